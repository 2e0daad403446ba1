//! Text in the connection's client_encoding (manual: "Character Set Support") as UTF-8.
//!
//! What cannot be converted is written as `\xNN`, byte by byte: never lost, never replaced.

use std::fmt::{self, Write};

use encoding_rs::DecoderResult;

/// A client encoding. The numbers stand in records, so they stay.
#[repr(u8)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// UTF8; also tried where the server promises nothing (SQL_ASCII) and where nothing is known, for it is the usual one.
    #[default]
    Utf8 = 0,
    /// An encoding without converter: ASCII is shown, the rest escaped.
    Ascii = 1,
    /// ISO 8859-1, byte for byte.
    Latin1 = 2,
    Big5 = 3,
    EucJp = 4,
    /// UHC, of which EUC_KR is a part.
    Uhc = 5,
    Gb18030 = 6,
    /// GBK, of which EUC_CN is a part.
    Gbk = 7,
    Iso8859_2 = 8,
    Iso8859_3 = 9,
    Iso8859_4 = 10,
    Iso8859_5 = 11,
    Iso8859_6 = 12,
    Iso8859_7 = 13,
    Iso8859_8 = 14,
    /// ISO 8859-9: Latin 1 but for six letters.
    Latin5 = 15,
    Iso8859_10 = 16,
    Iso8859_13 = 17,
    Iso8859_14 = 18,
    Iso8859_15 = 19,
    Iso8859_16 = 20,
    Koi8R = 21,
    Koi8U = 22,
    ShiftJis = 23,
    Windows866 = 24,
    Windows874 = 25,
    Windows1250 = 26,
    Windows1251 = 27,
    Windows1252 = 28,
    Windows1253 = 29,
    Windows1254 = 30,
    Windows1255 = 31,
    Windows1256 = 32,
    Windows1257 = 33,
    Windows1258 = 34,
}

use Encoding::*;

/// PostgreSQL's names without punctuation and in upper case, aliases included.
const NAMES: &[(&str, Encoding)] = &[
    ("UTF8", Utf8),
    ("UNICODE", Utf8),
    // Bytes as the database has them: mostly UTF-8.
    ("SQLASCII", Utf8),
    ("LATIN1", Latin1),
    ("ISO88591", Latin1),
    ("LATIN2", Iso8859_2),
    ("ISO88592", Iso8859_2),
    ("LATIN3", Iso8859_3),
    ("ISO88593", Iso8859_3),
    ("LATIN4", Iso8859_4),
    ("ISO88594", Iso8859_4),
    ("LATIN5", Latin5),
    ("ISO88599", Latin5),
    ("LATIN6", Iso8859_10),
    ("ISO885910", Iso8859_10),
    ("LATIN7", Iso8859_13),
    ("ISO885913", Iso8859_13),
    ("LATIN8", Iso8859_14),
    ("ISO885914", Iso8859_14),
    ("LATIN9", Iso8859_15),
    ("ISO885915", Iso8859_15),
    ("LATIN10", Iso8859_16),
    ("ISO885916", Iso8859_16),
    ("ISO88595", Iso8859_5),
    ("ISO88596", Iso8859_6),
    ("ISO88597", Iso8859_7),
    ("ISO88598", Iso8859_8),
    ("BIG5", Big5),
    ("WIN950", Big5),
    ("WINDOWS950", Big5),
    ("EUCJP", EucJp),
    ("EUCKR", Uhc),
    ("UHC", Uhc),
    ("WIN949", Uhc),
    ("WINDOWS949", Uhc),
    ("EUCCN", Gbk),
    ("GBK", Gbk),
    ("WIN936", Gbk),
    ("WINDOWS936", Gbk),
    ("GB18030", Gb18030),
    ("KOI8", Koi8R),
    ("KOI8R", Koi8R),
    ("KOI8U", Koi8U),
    ("SJIS", ShiftJis),
    ("SHIFTJIS", ShiftJis),
    ("MSKANJI", ShiftJis),
    ("WIN932", ShiftJis),
    ("WINDOWS932", ShiftJis),
    ("ALT", Windows866),
    ("WIN866", Windows866),
    ("WINDOWS866", Windows866),
    ("WIN874", Windows874),
    ("WINDOWS874", Windows874),
    ("WIN1250", Windows1250),
    ("WINDOWS1250", Windows1250),
    ("WIN", Windows1251),
    ("WIN1251", Windows1251),
    ("WINDOWS1251", Windows1251),
    ("WIN1252", Windows1252),
    ("WINDOWS1252", Windows1252),
    ("WIN1253", Windows1253),
    ("WINDOWS1253", Windows1253),
    ("WIN1254", Windows1254),
    ("WINDOWS1254", Windows1254),
    ("WIN1255", Windows1255),
    ("WINDOWS1255", Windows1255),
    ("WIN1256", Windows1256),
    ("WINDOWS1256", Windows1256),
    ("WIN1257", Windows1257),
    ("WINDOWS1257", Windows1257),
    ("ABC", Windows1258),
    ("TCVN", Windows1258),
    ("TCVN5712", Windows1258),
    ("VSCII", Windows1258),
    ("WIN1258", Windows1258),
    ("WINDOWS1258", Windows1258),
];

impl Encoding {
    /// The encoding of a `client_encoding` value. Those without converter here (EUC_TW, JOHAB, MULE_INTERNAL and the
    /// two of 2004) count as `Ascii`.
    pub fn from_name(name: &[u8]) -> Encoding {
        let plain: Vec<u8> = name.iter().filter(|byte| byte.is_ascii_alphanumeric()).map(u8::to_ascii_uppercase).collect();
        NAMES.iter().find(|(known, _)| known.as_bytes() == plain).map_or(Ascii, |(_, encoding)| *encoding)
    }

    /// The encoding by its number in a record.
    pub fn from_number(number: u8) -> Encoding {
        if number <= Ascii as u8 {
            return if number == Ascii as u8 { Ascii } else { Utf8 };
        }
        NAMES.iter().map(|(_, encoding)| *encoding).find(|encoding| *encoding as u8 == number).unwrap_or_default()
    }

    /// Whether the bytes are their own UTF-8.
    #[inline]
    pub fn is_utf8(self, bytes: &[u8]) -> bool {
        bytes.is_ascii() || self == Utf8 && std::str::from_utf8(bytes).is_ok()
    }

    /// Whether all bytes are text of this encoding.
    pub fn fits(self, bytes: &[u8]) -> bool {
        match self {
            Utf8 => std::str::from_utf8(bytes).is_ok(),
            Ascii => bytes.is_ascii(),
            Latin1 | Latin5 => true,
            _ => self.converter().decode_without_bom_handling_and_without_replacement(bytes).is_some(),
        }
    }

    /// Writes the text as UTF-8.
    pub fn write(self, bytes: &[u8], out: &mut dyn Write) -> fmt::Result {
        match self {
            Utf8 => bytes.utf8_chunks().try_for_each(|chunk| {
                out.write_str(chunk.valid())?;
                escape(chunk.invalid(), out)
            }),
            Ascii => bytes.iter().try_for_each(|byte| match byte {
                0..=0x7f => out.write_char(*byte as char),
                _ => escape(&[*byte], out),
            }),
            Latin1 => bytes.iter().try_for_each(|byte| out.write_char(*byte as char)),
            Latin5 => bytes.iter().try_for_each(|byte| {
                out.write_char(match byte {
                    0xd0 => 'Ğ',
                    0xdd => 'İ',
                    0xde => 'Ş',
                    0xf0 => 'ğ',
                    0xfd => 'ı',
                    0xfe => 'ş',
                    byte => *byte as char,
                })
            }),
            _ => self.convert(bytes, out),
        }
    }

    fn convert(self, bytes: &[u8], out: &mut dyn Write) -> fmt::Result {
        let mut left = bytes;
        let mut decoder = self.converter().new_decoder_without_bom_handling();
        loop {
            let mut text = [0u8; 128];
            let (result, read, written) = decoder.decode_to_utf8_without_replacement(left, &mut text, true);
            out.write_str(std::str::from_utf8(&text[..written]).unwrap_or_default())?;
            let so_far = bytes.len() - left.len() + read;
            left = &left[read..];
            match result {
                DecoderResult::InputEmpty => return Ok(()),
                DecoderResult::OutputFull => {}
                DecoderResult::Malformed(bad, after) => {
                    let end = so_far - after as usize;
                    escape(&bytes[end - bad as usize..end], out)?;
                    // `after` bytes were read that are not part of what is bad: they are taken again.
                    left = &bytes[end..];
                    decoder = self.converter().new_decoder_without_bom_handling();
                }
            }
        }
    }

    fn converter(self) -> &'static encoding_rs::Encoding {
        use encoding_rs as e;
        match self {
            Utf8 | Ascii | Latin1 | Latin5 => e::UTF_8,
            Big5 => e::BIG5,
            EucJp => e::EUC_JP,
            Uhc => e::EUC_KR,
            Gb18030 => e::GB18030,
            Gbk => e::GBK,
            Iso8859_2 => e::ISO_8859_2,
            Iso8859_3 => e::ISO_8859_3,
            Iso8859_4 => e::ISO_8859_4,
            Iso8859_5 => e::ISO_8859_5,
            Iso8859_6 => e::ISO_8859_6,
            Iso8859_7 => e::ISO_8859_7,
            Iso8859_8 => e::ISO_8859_8,
            Iso8859_10 => e::ISO_8859_10,
            Iso8859_13 => e::ISO_8859_13,
            Iso8859_14 => e::ISO_8859_14,
            Iso8859_15 => e::ISO_8859_15,
            Iso8859_16 => e::ISO_8859_16,
            Koi8R => e::KOI8_R,
            Koi8U => e::KOI8_U,
            ShiftJis => e::SHIFT_JIS,
            Windows866 => e::IBM866,
            Windows874 => e::WINDOWS_874,
            Windows1250 => e::WINDOWS_1250,
            Windows1251 => e::WINDOWS_1251,
            Windows1252 => e::WINDOWS_1252,
            Windows1253 => e::WINDOWS_1253,
            Windows1254 => e::WINDOWS_1254,
            Windows1255 => e::WINDOWS_1255,
            Windows1256 => e::WINDOWS_1256,
            Windows1257 => e::WINDOWS_1257,
            Windows1258 => e::WINDOWS_1258,
        }
    }
}

fn escape(bytes: &[u8], out: &mut dyn Write) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(out, "\\x{byte:02x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn convert(name: &str, bytes: &[u8]) -> String {
        let mut text = String::new();
        Encoding::from_name(name.as_bytes()).write(bytes, &mut text).unwrap();
        text
    }

    #[test]
    fn encodings_of_postgresql() {
        assert_eq!(convert("UTF8", "täble 表".as_bytes()), "täble 表");
        assert_eq!(convert("LATIN1", b"caf\xe9 \x80"), "café \u{80}");
        assert_eq!(convert("iso-8859-9", b"\xfd\xfe\xe9"), "ışé");
        assert_eq!(convert("WIN1252", b"\x80 caf\xe9"), "€ café");
        assert_eq!(convert("windows-1251", b"\xcf\xf0"), "Пр");
        assert_eq!(convert("SJIS", b"\x95\x5c\xb1"), "表ｱ");
        assert_eq!(convert("EUC_JP", b"\xc9\xbd"), "表");
        assert_eq!(convert("EUC_KR", b"\xc7\xd1"), "한");
        assert_eq!(convert("GB18030", b"\xb1\xed"), "表");
        assert_eq!(convert("BIG5", b"\xaa\xed"), "表");
        assert_eq!(convert("KOI8R", b"\xd0"), "п");
    }

    #[test]
    fn what_does_not_fit_is_escaped() {
        assert_eq!(convert("UTF8", b"a\xff\xc3b"), "a\\xff\\xc3b");
        assert_eq!(convert("SQL_ASCII", b"caf\xe9 \xc3\xa9"), "caf\\xe9 é");
        assert_eq!(convert("EUC_TW", b"a\xa4"), "a\\xa4");
        assert_eq!(convert("EUC_JP", b"\xc9\xbd\xc9"), "表\\xc9");
        assert_eq!(convert("EUC_JP", b"\xc9a\xc9\xbd"), "\\xc9a表");
        assert_eq!(convert("SJIS", b"\xff\xa0x"), "\\xff\\xa0x");
        // Longer than the piece that is converted at once.
        let long = [b"\xc9\xbd".repeat(500), b"\xff".to_vec(), b"\xc9\xbd".repeat(500)].concat();
        assert_eq!(convert("EUC_JP", &long), format!("{0}\\xff{0}", "表".repeat(500)));
    }

    #[test]
    fn numbers_lead_back() {
        for (name, encoding) in NAMES {
            assert_eq!(Encoding::from_number(*encoding as u8), *encoding, "{name}");
        }
        assert_eq!(Encoding::from_number(Encoding::from_name(b"EUC_TW") as u8), Encoding::Ascii);
        assert_eq!(Encoding::from_number(200), Encoding::Utf8);
    }
}
