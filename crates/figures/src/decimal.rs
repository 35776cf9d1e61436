//! Decimal numbers as digits: rounded once, then only shifted.
//!
//! # Contract
//! A double is rounded to the digits shown in one step, by the standard library, which is exact. Units and percentages
//! shift the decimal point of the text: nothing is rounded twice, and 0.07 is 7 %, not 7.000000000000001 %. A number
//! rounded in one direction parses back to a double on that side.
//! # Evidence
//! `tests/print.rs`: both properties, for random doubles.

/// The direction of rounding. The ends of an interval are rounded outward.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Toward {
    /// To the nearest.
    Nearest,
    /// Never up.
    Low,
    /// Never down.
    High,
}

/// `digits` as a whole number, times ten to the power of `-places`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Decimal {
    negative: bool,
    /// At least one digit; no leading zero, except in "0" itself.
    digits: String,
    places: i32,
}

impl Decimal {
    /// `value`, which is finite, with `count` significant digits.
    pub(crate) fn significant(value: f64, count: usize, toward: Toward) -> Decimal {
        let text = format!("{:.*e}", count - 1, value.abs());
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let exponent: i32 = exponent.parse().unwrap_or(0);
        let digits = mantissa.replace('.', "");
        let places = count as i32 - 1 - exponent;
        let rounded = Decimal { negative: value < 0.0, digits, places }.normal();
        rounded.toward(value, toward).with_digits(count)
    }

    /// `value`, which is finite, with `places` decimal places.
    pub(crate) fn fixed(value: f64, places: usize, toward: Toward) -> Decimal {
        let digits = format!("{:.places$}", value.abs()).replace('.', "");
        Decimal { negative: value < 0.0, digits, places: places as i32 }
            .normal()
            .toward(value, toward)
    }

    /// The fewest digits that parse back to `value`, which is finite.
    pub(crate) fn exact(value: f64) -> Decimal {
        let text = format!("{:e}", value.abs());
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let behind = mantissa.split_once('.').map_or(0, |(_, behind)| behind.len()) as i32;
        let places = behind - exponent.parse::<i32>().unwrap_or(0);
        Decimal { negative: value < 0.0, digits: mantissa.replace('.', ""), places }.normal()
    }

    /// Times ten to the power of `power`.
    pub(crate) fn shifted(mut self, power: i32) -> Decimal {
        self.places -= power;
        self
    }

    /// The power of ten of the first digit; 0 for zero.
    pub(crate) fn magnitude(&self) -> i32 {
        if self.is_zero() { 0 } else { self.digits.len() as i32 - 1 - self.places }
    }

    pub(crate) fn is_zero(&self) -> bool {
        self.digits == "0"
    }

    /// Without trailing zeros in the fraction.
    pub(crate) fn trimmed(mut self) -> Decimal {
        while self.places > 0 && self.digits.len() > 1 && self.digits.ends_with('0') {
            self.digits.pop();
            self.places -= 1;
        }
        if self.is_zero() {
            self.places = 0;
        }
        self
    }

    /// All digits, with thousands separated by commas; with an exponent if the point is far from them.
    pub(crate) fn text(&self) -> String {
        let sign = if self.negative { "-" } else { "" };
        if !(-7..15).contains(&self.magnitude()) {
            let (first, rest) = self.digits.split_at(1);
            let point = if rest.is_empty() { "" } else { "." };
            return format!("{sign}{first}{point}{rest}e{}", self.magnitude());
        }
        let (whole, fraction) = self.around_point();
        let point = if fraction.is_empty() { "" } else { "." };
        format!("{sign}{}{point}{fraction}", grouped(&whole))
    }

    /// The double that the digits parse to.
    fn value(&self) -> f64 {
        let size: f64 = format!("{}e{}", self.digits, -self.places).parse().unwrap_or(0.0);
        if self.negative { -size } else { size }
    }

    fn around_point(&self) -> (String, String) {
        let places = usize::try_from(self.places).unwrap_or(0);
        if self.places <= 0 {
            let zeros = if self.is_zero() { 0 } else { self.places.unsigned_abs() as usize };
            return (format!("{}{}", self.digits, "0".repeat(zeros)), String::new());
        }
        let padded = format!("{:0>1$}", self.digits, places + 1);
        let (whole, fraction) = padded.split_at(padded.len() - places);
        (whole.to_owned(), fraction.to_owned())
    }

    fn normal(mut self) -> Decimal {
        let first = self.digits.find(|digit| digit != '0');
        self.digits.drain(..first.unwrap_or(self.digits.len() - 1));
        if self.is_zero() {
            self.negative = false;
        }
        self
    }

    /// Moved by one in its last digit if it is on the wrong side of `value`.
    fn toward(self, value: f64, toward: Toward) -> Decimal {
        let shown = self.value();
        match toward {
            Toward::Low if shown > value => self.next(false),
            Toward::High if shown < value => self.next(true),
            _ => self,
        }
    }

    /// The next number in the last digit.
    fn next(mut self, up: bool) -> Decimal {
        // Zero has no sign of its own: below it the digits grow again.
        if self.is_zero() {
            self.negative = !up;
        }
        let away = self.negative != up;
        let mut digits = self.digits.into_bytes();
        let (turns, becomes) = if away { (b'9', b'0') } else { (b'0', b'9') };
        let mut at = digits.len();
        while at > 0 && digits[at - 1] == turns {
            at -= 1;
            digits[at] = becomes;
        }
        match at.checked_sub(1) {
            Some(at) => digits[at] = if away { digits[at] + 1 } else { digits[at] - 1 },
            None => digits.insert(0, b'1'),
        }
        self.digits = digits.into_iter().map(char::from).collect();
        self.normal()
    }

    /// Restores `count` digits after a step over a power of ten: 9.99 and 10.0, 1.00 and 0.999.
    fn with_digits(mut self, count: usize) -> Decimal {
        if self.digits.len() > count {
            self.digits.pop();
            self.places -= 1;
        } else if self.digits.len() < count && !self.is_zero() {
            self.digits.push('9');
            self.places += 1;
        }
        self
    }
}

/// Digits in groups of three.
pub(crate) fn grouped(digits: &str) -> String {
    let mut text = String::new();
    for (nth, digit) in digits.chars().enumerate() {
        if nth > 0 && (digits.len() - nth).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_digit_moves_in_the_requested_direction() {
        let significant = |value, toward| Decimal::significant(value, 3, toward).text();
        assert_eq!(significant(1.004, Toward::High), "1.01");
        assert_eq!(significant(9.999, Toward::Low), "9.99");
        assert_eq!(significant(9.991, Toward::High), "10.0");
        assert_eq!(significant(0.999_96, Toward::Low), "0.999");
        assert_eq!(significant(-1.006, Toward::High), "-1.00");
        assert_eq!(significant(-1.001, Toward::Low), "-1.01");
        assert_eq!(significant(1.0, Toward::Low), "1.00");
        let fixed = |value, toward| Decimal::fixed(value, 2, toward).text();
        assert_eq!(fixed(0.001, Toward::High), "0.01");
        assert_eq!(fixed(-0.001, Toward::Low), "-0.01");
        assert_eq!(fixed(-0.001, Toward::Nearest), "0.00");
        assert_eq!(fixed(1234.567, Toward::Low), "1,234.56");
    }

    #[test]
    fn shifting_rounds_nothing() {
        assert_eq!(Decimal::exact(0.07).shifted(2).text(), "7");
        assert_eq!(Decimal::exact(0.999_999).shifted(2).text(), "99.9999");
        assert_eq!(Decimal::exact(1_234_567.0).shifted(-6).text(), "1.234567");
        assert_eq!(Decimal::exact(1e300).text(), "1e300");
        assert_eq!(Decimal::exact(-0.0).text(), "0");
        assert_eq!(Decimal::exact(12_000.0).text(), "12,000");
    }
}
