//! How single values are written and read.

use std::fmt;

/// Seconds from the Unix epoch to PostgreSQL's, 2000-01-01 00:00:00 UTC.
pub(crate) const EPOCH_SECONDS: i64 = 946_684_800;

/// The number of 4 bytes at this place, most significant byte first, if all of it is there.
pub(crate) fn number_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// The same of 8 bytes.
pub(crate) fn long_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_be_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

/// An xid of `size` bytes, 4 or 8.
pub(crate) fn xid_at(bytes: &[u8], at: usize, size: usize) -> Option<u64> {
    match size {
        8 => long_at(bytes, at),
        _ => number_at(bytes, at).map(u64::from),
    }
}

/// A WAL position as PostgreSQL writes it: two hexadecimal halves, `0/16B3748`.
#[derive(Clone, Copy)]
pub struct Lsn(pub u64);

impl fmt::Display for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:X}/{:X}", self.0 >> 32, self.0 as u32)
    }
}

impl Lsn {
    /// Reads what `Display` writes; each half has 1 to 8 digits.
    pub fn parse(text: &str) -> Option<Lsn> {
        let (high, low) = text.split_once('/')?;
        let half = |digits: &str| {
            let well_formed = (1..=8).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_hexdigit());
            well_formed.then(|| u64::from_str_radix(digits, 16).ok()).flatten()
        };
        Some(Lsn(half(high)? << 32 | half(low)?))
    }
}

/// A TimestampTz: microseconds since 2000-01-01 00:00:00 UTC, or one of the infinities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    /// Seconds and nanoseconds (0 to 999,999,000) since the Unix epoch.
    At(i64, u32),
    Infinity,
    MinusInfinity,
}

impl Time {
    pub fn from_wire(microseconds: i64) -> Time {
        match microseconds {
            i64::MAX => Time::Infinity,
            i64::MIN => Time::MinusInfinity,
            us => Time::At(us.div_euclid(1_000_000) + EPOCH_SECONDS, us.rem_euclid(1_000_000) as u32 * 1000),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lsn_has_no_leading_zeros() {
        assert_eq!(Lsn(0xB_03F4_2B70).to_string(), "B/3F42B70");
        assert_eq!(Lsn(0).to_string(), "0/0");
        assert_eq!(Lsn(u64::MAX).to_string(), "FFFFFFFF/FFFFFFFF");
    }

    #[test]
    fn lsn_is_read_back() {
        assert_eq!(Lsn::parse("B/3F42B70").map(|lsn| lsn.0), Some(0xB_03F4_2B70));
        for bad in ["", "/", "0", "0/", "/0", "0/123456789", "0/ 1", "+1/0", "g/0"] {
            assert!(Lsn::parse(bad).is_none(), "{bad:?}");
        }
    }

    #[test]
    fn time_counts_from_2000() {
        assert_eq!(Time::from_wire(0), Time::At(946_684_800, 0));
        assert_eq!(Time::from_wire(-1), Time::At(946_684_799, 999_999_000));
        assert_eq!(Time::from_wire(i64::MIN), Time::MinusInfinity);
        assert_eq!(Time::from_wire(i64::MAX), Time::Infinity);
        // One step inside the infinities nothing overflows.
        assert!(matches!(Time::from_wire(i64::MIN + 1), Time::At(..)));
        assert!(matches!(Time::from_wire(i64::MAX - 1), Time::At(..)));
    }
}
