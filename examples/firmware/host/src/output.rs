//! What a program printed: results that must be those of a computer, each with its measurements behind ` | `.

/// Lines of results, and what was measured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// Results, one a line.
    pub results: Vec<String>,
    /// Pairs of a name and a number, in the order in which they were printed. Unnamed ones are called like their result's
    /// first word.
    pub numbers: Vec<(String, u64)>,
}

impl Output {
    /// Takes a program's standard output apart.
    pub fn of(text: &str) -> Self {
        let mut output = Self::default();
        for line in text.lines() {
            let (result, numbers) = match line.split_once(" | ") {
                Some((result, numbers)) => (Some(result), numbers),
                // The last line, `stack N`, is a measurement alone.
                None => (None, line),
            };
            let mut name = result.and_then(|result| result.split(' ').next()).unwrap_or_default();
            output.results.extend(result.map(str::to_string));
            for word in numbers.split(' ') {
                match word.parse() {
                    Ok(number) => output.numbers.push((name.to_string(), number)),
                    Err(_) => name = word,
                }
            }
        }
        output
    }

    /// The sum of all numbers of a name.
    pub fn sum(&self, name: &str) -> u64 {
        self.of_name(name).sum()
    }

    /// The mean of all numbers of a name, rounded; 0 where there are none.
    pub fn mean(&self, name: &str) -> u64 {
        self.sum(name).checked_div(self.of_name(name).count() as u64).unwrap_or(0)
    }

    fn of_name(&self, name: &str) -> impl Iterator<Item = u64> {
        self.numbers.iter().filter(move |(other, _)| other == name).map(|(_, number)| *number)
    }

    /// Whether the results are these, all of them and in this order.
    pub fn compare(&self, expected: &[String]) -> Result<(), String> {
        if self.results.len() != expected.len() {
            return Err(format!("{} results were printed, and there are {}", self.results.len(), expected.len()));
        }
        match self.results.iter().zip(expected).enumerate().find(|(_, (found, expected))| found != expected) {
            Some((number, (found, expected))) => {
                Err(format!("result {number} is another\n  printed:  {found}\n  expected: {expected}"))
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str =
        "open | 1200\nanswer 5 2 | find 300 take 20 tokens 2\nunknown after 3 | find 101\nstack 800\n";

    #[test]
    fn lines_are_results_and_measurements() {
        let output = Output::of(PRINTED);
        assert_eq!(output.results, ["open", "answer 5 2", "unknown after 3"]);
        assert_eq!((output.mean("find"), output.sum("tokens"), output.sum("stack")), (200, 2, 800));
        assert_eq!((output.sum("open"), output.mean("nothing")), (1200, 0));
    }

    #[test]
    fn a_result_that_is_another_or_missing_is_noticed() {
        let output = Output::of(PRINTED);
        let expected = output.results.clone();
        assert_eq!(output.compare(&expected), Ok(()));
        for at in 0..expected.len() {
            let mut other = expected.clone();
            other[at].push('0');
            assert!(output.compare(&other).unwrap_err().contains(&format!("result {at} is another")));
            other.remove(at);
            assert!(output.compare(&other).is_err());
        }
        assert!(Output::of("").compare(&expected).is_err());
    }
}
