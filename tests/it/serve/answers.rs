//! Every path and every error, the hub's files, and the figures.

use serde_json::Value;

use super::{CHAT, WARM, chat};
use crate::endpoint::{Endpoint, Reply, raw};

/// What a request's body says that is the same in all; `M` in the tables.
const MESSAGES: &str = r#""messages":[{"role":"user","content":"hi!"}]"#;

/// Method, path, body; status, where to look in the JSON, what is there.
const ANSWERS: &str = r#"
GET /v1/models ;; 200 ; /data/0/id ; "stated"
GET /v1/models ;; 200 ; /data/0/root ; "stated"
GET /v1/models ;; 200 ; /data/1/max_model_len ; 100
GET /v1/models/batched ;; 200 ; /owned_by ; "acme"
GET /version ;; 200 ; /version ; "0.1.0"
GET /server_info ;; 404 ; /error/type ; "invalid_request_error"
POST /tokenize ; {"prompt":" the"} ; 200 ; /count ; 1
POST /tokenize ; {M} ; 200 ; /tokens ; [104,105,33]
POST /detokenize ; {"tokens":[32,104,105]} ; 200 ; /prompt ; " hi"
POST /v1/chat/completions ; {"model":"stated",M} ; 200 ; /usage/prompt_tokens ; 3
POST /v1/chat/completions ; {"model":"stated",M} ; 200 ; /usage/total_tokens ; 10
POST /v1/chat/completions ; {"model":"stated",M} ; 200 ; /object ; "chat.completion"
POST /v1/chat/completions ; {"model":"stated",M,"x":[1]} ; 200 ; /choices/0/message/role ; "assistant"
POST /v1/chat/completions ; {"model":"stated",M,"max_tokens":null,"stop":null} ; 200 ; /usage/completion_tokens ; 7
POST /v1/chat/completions ; {"model":"stated",M,"max_completion_tokens":3,"ignore_eos":true} ; 200 ; /usage/completion_tokens ; 3
POST /v1/chat/completions ; {"model":"stated","messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}]} ; 200 ; /usage/prompt_tokens ; 2
POST /v1/completions ; {"model":"stated","prompt":[1,2,3],"max_tokens":2} ; 200 ; /choices/0/text ; " the warm"
POST /v1/completions ; {"model":"stated","prompt":["hi"],"max_tokens":2} ; 200 ; /usage/prompt_tokens ; 2
POST /v1/completions ; {"model":"stated","prompt":"hi"} ; 200 ; /choices/0/finish_reason ; "length"
POST /v1/completions ; {"model":"stated","prompt":"hi"} ; 200 ; /object ; "text_completion"
"#;

/// Method, path, body; status, `code` or `param`, a part of the message.
const ERRORS: &str = r#"
POST /v1/chat/completions ; {"model":"statde",M} ; 404 ; model_not_found ; did you mean `stated`?
POST /v1/chat/completions ; {"model":"zzz",M} ; 404 ; model ; this provider has: stated, batched
POST /v1/chat/completions ; { ; 400 ;; not JSON: EOF while parsing an object at line 1 column 1
POST /v1/chat/completions ; [] ; 400 ;; must be a JSON object
POST /v1/chat/completions ; {} ; 400 ; model ; `model` is missing
POST /v1/chat/completions ; {"model":1} ; 400 ; model ; `model` must be a string
POST /v1/chat/completions ; {"model":"stated"} ; 400 ; messages ; missing
POST /v1/chat/completions ; {"model":"stated","messages":[]} ; 400 ; messages ; must not be empty
POST /v1/chat/completions ; {"model":"stated","messages":1} ; 400 ; messages ; must be an array
POST /v1/chat/completions ; {"model":"stated","messages":[{}]} ; 400 ; messages[0].role ; must be a string
POST /v1/chat/completions ; {"model":"stated","messages":[{"role":"user","content":1}]} ; 400 ; messages[0].content ; an array of parts
POST /v1/chat/completions ; {"model":"stated",M,"max_tokens":0} ; 400 ; max_tokens ; is 0; it must be a whole number
POST /v1/chat/completions ; {"model":"stated",M,"max_tokens":"9"} ; 400 ; max_tokens ; a whole number from 1 to 1000000
POST /v1/chat/completions ; {"model":"stated",M,"n":2} ; 400 ; n ; `n` is 2; it must be 1
POST /v1/chat/completions ; {"model":"stated",M,"stream":1} ; 400 ; stream ; true or false
POST /v1/chat/completions ; {"model":"stated",M,"stream_options":1} ; 400 ; stream_options ; an object
POST /v1/chat/completions ; {"model":"batched",M,"max_tokens":99} ; 400 ; context_length_exceeded ; is 100 tokens; 102 were asked for (3 in the prompt, 99
POST /v1/chat/completions ; {"model":"stated",M,"x":"LONG"} ; 413 ;; larger than 2000 bytes
POST /v1/completions ; {"model":"stated"} ; 400 ; prompt ; missing
POST /v1/completions ; {"model":"stated","prompt":["a","b"]} ; 400 ; prompt ; one prompt a request
POST /v1/completions ; {"model":"stated","prompt":{}} ; 400 ; prompt ; a string or an array
POST /detokenize ; {"tokens":[99999999]} ; 400 ; tokens ; no token 99999999
POST /detokenize ; {"tokens":[-1]} ; 400 ; tokens ; an array of tokens
GET /v1/chat/completions ;; 405 ;; does not take GET
GET /v1/model ;; 404 ;; did you mean `/v1/models`?
GET /v1/models/bached ;; 404 ; model ; did you mean `batched`?
"#;

/// The rows of a table: method and path, body, and three more fields.
fn rows(table: &str) -> impl Iterator<Item = [String; 5]> {
    let rows = table.lines().filter(|line| !line.is_empty());
    rows.map(|line| {
        let line = line.replace(";;", ";  ;");
        let line = line.replace(",M", &format!(",{MESSAGES}"));
        let line = line.replace("{M}", &format!("{{{MESSAGES}}}"));
        let fields: Vec<String> = line
            .split(" ; ")
            .map(|field| field.trim().replace("LONG", &"x".repeat(3000)))
            .collect();
        fields.try_into().unwrap_or_else(|row| panic!("{row:?}"))
    })
}

/// The reply to a row's request, which must have the row's status.
fn reply(endpoint: &Endpoint, row: &[String; 5]) -> Reply {
    let [request, body, status, ..] = row;
    let (method, path) = request.split_once(' ').expect("a method and a path");
    let reply = endpoint.send(method, path, body);
    let found = reply.status.to_string();
    assert_eq!(&found, status, "{row:?}: {}", reply.text());
    reply
}

#[test]
fn every_path_answers() {
    let endpoint = Endpoint::start(WARM, 1, &[]);
    assert_eq!(endpoint.doors[0].1, "acme");
    assert_eq!(endpoint.doors[0].2, "stated,batched");
    for row in rows(ANSWERS) {
        let found = reply(&endpoint, &row).json();
        let expected: Value = serde_json::from_str(&row[4]).expect("JSON");
        assert_eq!(found.pointer(&row[3]), Some(&expected), "{row:?}: {found}");
    }
    for (method, path) in [
        ("GET", "/health"),
        ("HEAD", "/metrics"),
        ("HEAD", "/health"),
    ] {
        let reply = endpoint.send(method, path, "");
        assert_eq!((reply.status, reply.text()), (200, String::new()), "{path}");
    }
}

#[test]
fn every_error_says_what_is_wrong() {
    let endpoint = Endpoint::start(WARM, 1, &["--max-body", "2kB"]);
    for row in rows(ERRORS) {
        let error = reply(&endpoint, &row).json()["error"].clone();
        let said = error["message"].as_str().expect("a message");
        assert!(said.contains(&row[4]), "{row:?}: {said}");
        let names = [error["code"].as_str(), error["param"].as_str()];
        let named = row[3].as_str();
        assert!(named.is_empty() || names.contains(&Some(named)), "{error}");
    }
}

#[test]
fn the_tokenizer_lies_where_a_hub_has_it() {
    let endpoint = Endpoint::start(WARM, 1, &[]);
    let path = "/stated/resolve/main/tokenizer.json";
    let whole = endpoint.send("GET", path, "");
    let length = whole.body.len();
    assert_eq!(whole.json()["model"]["type"], "BPE");
    assert_eq!(
        whole.header("content-length"),
        Some(length.to_string().as_str())
    );
    assert_eq!(whole.header("x-repo-commit").map(str::len), Some(40));
    let head = endpoint.send("HEAD", path, "");
    assert_eq!((head.status, head.body.len()), (200, 0));
    for name in ["etag", "content-length", "x-repo-commit"] {
        assert_eq!(head.header(name), whole.header(name), "{name}");
    }
    let part = raw(
        endpoint.address(),
        format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\nrange: bytes=2-11\r\n\r\n")
            .as_bytes(),
    );
    let range = format!("bytes 2-11/{length}");
    assert_eq!(
        (part.status, part.header("content-range")),
        (206, Some(range.as_str()))
    );
    assert_eq!(part.body, whole.body[2..12]);
    for (path, code) in [
        ("/other/resolve/main/tokenizer.json", "reponotfound"),
        ("/stated/resolve/main/model.safetensors", "entrynotfound"),
        ("/api/models/other", "reponotfound"),
    ] {
        let reply = endpoint.send("GET", path, "");
        assert_eq!(
            (reply.status, reply.header("x-error-code")),
            (404, Some(code))
        );
    }
    let model = endpoint.send("GET", "/api/models/stated", "").json();
    assert_eq!(model["siblings"].as_array().map(Vec::len), Some(3));
    let tree = endpoint
        .send("GET", "/api/models/stated/tree/main", "")
        .json();
    assert_eq!(tree[1]["path"], "tokenizer.json");
    assert_eq!(tree[1]["size"], length);
    let config = endpoint.send(
        "GET",
        "/thermocline/tiny/resolve/main/tokenizer_config.json",
        "",
    );
    assert_eq!(config.json()["tokenizer_class"], "PreTrainedTokenizerFast");
}

#[test]
fn metrics_count_everybody() {
    let text = format!(
        "{WARM}traffic.others = {{ arrivals = \"36000/h\", prompt_tokens = 10, output_tokens = 5 }}\n"
    );
    let endpoint = Endpoint::start(&text, 1, &["--speed", "20"]);
    for _ in 0..3 {
        assert_eq!(endpoint.send("POST", CHAT, &chat("stated", "")).status, 200);
    }
    let own = "{model_name=\"stated\"}";
    assert_eq!(
        endpoint.figure(&format!("vllm:time_to_first_token_seconds_count{own}")),
        3.0
    );
    let sum = endpoint.figure(&format!("vllm:time_to_first_token_seconds_sum{own}"));
    assert!((sum - 0.18).abs() < 1e-6, "virtual time is exact: {sum}");
    assert_eq!(
        endpoint
            .figure("vllm:time_to_first_token_seconds_bucket{model_name=\"stated\",le=\"0.06\"}"),
        3.0
    );
    assert_eq!(
        endpoint.figure(&format!("vllm:generation_tokens_total{own}")),
        21.0
    );
    assert!(
        endpoint.figure("vllm:time_to_first_token_seconds_count{model_name=\"batched\"}") > 0.0
    );
    assert_eq!(
        endpoint.figure("thermocline:replicas{model_name=\"stated\",stage=\"ready\"}"),
        1.0
    );
    assert_eq!(endpoint.figure("thermocline:speed"), 20.0);
}
