//! Aligned Markdown tables, readable as plain text too.

use std::fmt::Write;

pub fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let head: Vec<String> = head.iter().map(|word| (*word).to_owned()).collect();
    let width = |column: usize| {
        let cells = std::iter::once(&head).chain(rows).filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let rule: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
    let mut text = String::new();
    for row in [&head, &rule].into_iter().chain(rows) {
        let cells = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:<width$}"));
        // Writing to a String does not fail.
        let _ = writeln!(text, "| {} |", cells.collect::<Vec<_>>().join(" | "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_cells() {
        let rows = [vec!["rhumb".to_owned(), "1".to_owned()], vec!["×".to_owned(), "12".to_owned()]];
        let expected = "| server | MB |\n| ------ | -- |\n| rhumb  | 1  |\n| ×      | 12 |\n";
        assert_eq!(table(&["server", "MB"], &rows), expected);
    }
}
