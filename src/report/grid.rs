//! Tables that fit their width: columns carry a rank, and the least important go first.

use comfy_table::{Cell, CellAlignment, Color, ContentArrangement, LineStyle, Table, TableStyle};
use unicode_width::UnicodeWidthStr;

use super::number::line_up;
use super::text::DIM;

/// Between two columns, where there is room and where there is little \[characters\].
const GAPS: [usize; 2] = [2, 1];

/// A column of a table.
#[derive(Clone, Debug)]
pub(super) struct Column {
    head: String,
    cells: Vec<String>,
    colours: Vec<Option<Color>>,
    right: bool,
    /// 0 always stays; the largest goes first.
    rank: u8,
}

impl Column {
    /// Text, on the left.
    pub(super) fn text(head: &str, cells: Vec<String>) -> Self {
        Self {
            head: head.to_owned(),
            colours: vec![None; cells.len()],
            cells,
            right: false,
            rank: 0,
        }
    }

    /// Numbers, on the right, decimal points under each other.
    pub(super) fn numbers(head: &str, mut cells: Vec<String>) -> Self {
        line_up(&mut cells);
        Self {
            right: true,
            ..Self::text(head, cells)
        }
    }

    /// The same, to be left out where there is no room; the largest rank goes first.
    pub(super) fn rank(self, rank: u8) -> Self {
        Self { rank, ..self }
    }

    /// The same with colours.
    pub(super) fn coloured(self, colours: Vec<Option<Color>>) -> Self {
        Self { colours, ..self }
    }

    fn width(&self) -> usize {
        let lines = self
            .cells
            .iter()
            .flat_map(|cell| cell.lines())
            .chain(self.head.lines());
        lines.map(UnicodeWidthStr::width).max().unwrap_or(0)
    }
}

/// The width of these columns as a table.
fn natural(columns: &[Column], gap: usize) -> usize {
    let gaps = columns.len().saturating_sub(1) * gap;
    columns.iter().map(Column::width).sum::<usize>() + gaps
}

/// Drops columns of rank `least` and above, least important first, until the rest fits or none of them is left.
fn dropped(mut columns: Vec<Column>, width: usize, gap: usize, least: u8) -> Vec<Column> {
    while natural(&columns, gap) > width {
        let Some(worst) = (0..columns.len())
            .filter(|&index| columns[index].rank >= least)
            .max_by_key(|&index| (columns[index].rank, index))
        else {
            break;
        };
        columns.remove(worst);
    }
    columns
}

/// The best of two arrangements at this width: `wide` as long as its columns below rank `essential` fit, else `narrow`.
pub(super) fn fitted(
    wide: Vec<Column>,
    narrow: Vec<Column>,
    width: usize,
    essential: u8,
) -> String {
    let [gap, small_gap] = GAPS;
    let columns = dropped(wide, width, gap, essential);
    if natural(&columns, gap) <= width {
        return draw(&columns, width, gap);
    }
    let columns = dropped(narrow.clone(), width, gap, essential);
    if natural(&columns, gap) <= width {
        return draw(&columns, width, gap);
    }
    draw(&dropped(narrow, width, small_gap, 1), width, small_gap)
}

/// Moves cells down so that they stand beside the last line of the first column's cell in their row.
pub(super) fn sunk(columns: Vec<Column>) -> Vec<Column> {
    let lines = |cell: &String| cell.lines().count().saturating_sub(1);
    let depth: Vec<usize> = columns
        .first()
        .map_or_else(Vec::new, |first| first.cells.iter().map(lines).collect());
    let sink = |index: usize, column: Column| match index {
        0 => column,
        _ => Column {
            cells: column
                .cells
                .iter()
                .zip(&depth)
                .map(|(cell, depth)| "\n".repeat(*depth) + cell)
                .collect(),
            ..column
        },
    };
    columns
        .into_iter()
        .enumerate()
        .map(|(index, column)| sink(index, column))
        .collect()
}

/// Draws the columns; names wrap where even the least of them is too wide.
fn draw(columns: &[Column], width: usize, gap: usize) -> String {
    let style = TableStyle::new().header_separator(LineStyle::none().fill('─'));
    let mut table = Table::new();
    table
        .load_style(style)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(u16::try_from(width).unwrap_or(u16::MAX))
        .enforce_styling();
    table.style_text_only();
    let aligned = |cell: Cell, right: bool| {
        cell.set_alignment(if right {
            CellAlignment::Right
        } else {
            CellAlignment::Left
        })
    };
    table.set_header(
        columns
            .iter()
            .map(|column| aligned(Cell::new(&column.head), column.right)),
    );
    for row in 0..columns.first().map_or(0, |column| column.cells.len()) {
        table.add_row(columns.iter().map(|column| {
            let cell = aligned(Cell::new(&column.cells[row]), column.right);
            match column.colours[row] {
                Some(colour) => cell.fg(colour),
                None => cell,
            }
        }));
    }
    let last = columns.len().saturating_sub(1);
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, if index == last { 0 } else { gap as u16 }));
    }
    trimmed(&table.to_string())
}

/// Takes the spaces off the ends of lines, and makes the head recede.
fn trimmed(table: &str) -> String {
    let body = table
        .lines()
        .position(|line| line.contains('─'))
        .unwrap_or(0);
    let lines = table.lines().enumerate().map(|(index, line)| {
        let plain = anstream::adapter::strip_str(line).to_string();
        let end = plain.trim_end();
        match () {
            () if index <= body => format!("{DIM}{end}{DIM:#}"),
            // Only lines of names end in empty cells; nothing in them has a colour.
            () if end.len() < plain.len() => end.to_owned(),
            () => line.to_owned(),
        }
    });
    lines.collect::<Vec<String>>().join("\n")
}
