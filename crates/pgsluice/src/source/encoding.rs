//! Encodings: inputs that are not in UTF-8 are converted to it. Only encodings are listed here whose
//! characters all mean the same to PostgreSQL; the tests compare every one with the server.

use encoding_rs::{DecoderResult, Encoding as Library};

/// The encoding of an input, by PostgreSQL's names for encodings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Encoding(Option<&'static EncodingFacts>);

/// An encoding other than UTF-8.
#[derive(Debug, PartialEq, Eq)]
struct EncodingFacts {
    /// PostgreSQL's name, if it has one.
    name: &'static str,
    /// Other names, reduced to letters and digits. PostgreSQL lists them in `pg_encname_tbl` of
    /// `src/common/encnames.c` (version 18).
    others: &'static [&'static str],
    reads: Decoding,
}

#[derive(Debug, PartialEq, Eq)]
enum Decoding {
    /// Each byte is the character of its number.
    Latin1,
    /// Bytes from 0xa0 on are converted by the library, except `but`, which PostgreSQL does not accept.
    Bytes { from: &'static Library, but: &'static [u8] },
    /// Like [`Self::Bytes`], but from 0x80 on; bytes that the library takes for control characters are not
    /// accepted either.
    CodePage { from: &'static Library, but: &'static [u8] },
    /// Characters of two or four bytes, in this byte order unless a byte order mark gives another.
    Utf16(&'static Library),
}

/// The replacement for bytes that are not a character. It is invalid in UTF-8 at any place, so the server
/// rejects the row.
const NO_CHARACTER: u8 = 0xff;

const fn bytes(
    name: &'static str,
    others: &'static [&'static str],
    from: &'static Library,
    but: &'static [u8],
) -> EncodingFacts {
    EncodingFacts { name, others, reads: Decoding::Bytes { from, but } }
}

const fn page(
    name: &'static str,
    others: &'static [&'static str],
    from: &'static Library,
    but: &'static [u8],
) -> EncodingFacts {
    EncodingFacts { name, others, reads: Decoding::CodePage { from, but } }
}

/// All encodings other than UTF-8.
static KNOWN: [EncodingFacts; 28] = [
    EncodingFacts { name: "LATIN1", others: &["iso88591", "l1"], reads: Decoding::Latin1 },
    bytes("LATIN2", &["iso88592", "l2"], &encoding_rs::ISO_8859_2_INIT, &[]),
    bytes("LATIN3", &["iso88593", "l3"], &encoding_rs::ISO_8859_3_INIT, &[]),
    bytes("LATIN4", &["iso88594", "l4"], &encoding_rs::ISO_8859_4_INIT, &[]),
    bytes("LATIN5", &["iso88599", "l5"], &encoding_rs::WINDOWS_1254_INIT, &[]),
    bytes("LATIN6", &["iso885910", "l6"], &encoding_rs::ISO_8859_10_INIT, &[]),
    bytes("LATIN7", &["iso885913", "l7"], &encoding_rs::ISO_8859_13_INIT, &[]),
    bytes("LATIN8", &["iso885914", "l8"], &encoding_rs::ISO_8859_14_INIT, &[]),
    bytes("LATIN9", &["iso885915", "l9"], &encoding_rs::ISO_8859_15_INIT, &[]),
    bytes("LATIN10", &["iso885916", "l10"], &encoding_rs::ISO_8859_16_INIT, &[]),
    bytes("ISO_8859_5", &[], &encoding_rs::ISO_8859_5_INIT, &[]),
    bytes("ISO_8859_6", &[], &encoding_rs::ISO_8859_6_INIT, &[]),
    bytes("ISO_8859_7", &[], &encoding_rs::ISO_8859_7_INIT, &[]),
    bytes("ISO_8859_8", &[], &encoding_rs::ISO_8859_8_INIT, &[]),
    page("WIN866", &["alt", "cp866", "ibm866", "windows866"], &encoding_rs::IBM866_INIT, &[]),
    page("WIN874", &["windows874", "cp874"], &encoding_rs::WINDOWS_874_INIT, &[]),
    page("WIN1250", &["windows1250", "cp1250"], &encoding_rs::WINDOWS_1250_INIT, &[]),
    page("WIN1251", &["windows1251", "cp1251", "win"], &encoding_rs::WINDOWS_1251_INIT, &[]),
    page("WIN1252", &["windows1252", "cp1252"], &encoding_rs::WINDOWS_1252_INIT, &[]),
    page("WIN1253", &["windows1253", "cp1253"], &encoding_rs::WINDOWS_1253_INIT, &[]),
    page("WIN1254", &["windows1254", "cp1254"], &encoding_rs::WINDOWS_1254_INIT, &[]),
    page("WIN1255", &["windows1255", "cp1255"], &encoding_rs::WINDOWS_1255_INIT, &[0xca]),
    page("WIN1256", &["windows1256", "cp1256"], &encoding_rs::WINDOWS_1256_INIT, &[]),
    page("WIN1257", &["windows1257", "cp1257"], &encoding_rs::WINDOWS_1257_INIT, &[]),
    page("WIN1258", &["windows1258", "cp1258"], &encoding_rs::WINDOWS_1258_INIT, &[]),
    page("KOI8R", &["koi8"], &encoding_rs::KOI8_R_INIT, &[]),
    // PostgreSQL does not have this name.
    EncodingFacts {
        name: "UTF16",
        others: &["utf16le", "ucs2"],
        reads: Decoding::Utf16(&encoding_rs::UTF_16LE_INIT),
    },
    EncodingFacts {
        name: "UTF16BE",
        others: &[],
        reads: Decoding::Utf16(&encoding_rs::UTF_16BE_INIT),
    },
];

impl Encoding {
    /// Returns the encoding with this name. Like PostgreSQL, it compares only letters and digits, ignoring
    /// case.
    pub fn from_name(name: &str) -> Option<Self> {
        let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        let plain = plain.to_ascii_lowercase();
        if ["utf8", "unicode"].contains(&plain.as_str()) {
            return Some(Self(None));
        }
        let is_it =
            |known: &&EncodingFacts| plain_name(known) == plain || known.others.contains(&&*plain);
        KNOWN.iter().find(is_it).map(|known| Self(Some(known)))
    }

    /// Returns the names of all encodings, for the user.
    pub fn names() -> impl Iterator<Item = &'static str> {
        std::iter::once("UTF8").chain(KNOWN.iter().map(|known| known.name))
    }

    /// Returns its name.
    pub fn name(self) -> &'static str {
        self.0.map_or("UTF8", |known| known.name)
    }

    /// Whether it is UTF-8.
    pub fn is_utf8(self) -> bool {
        self.0.is_none()
    }

    /// Returns a decoder, or `None` for UTF-8, which needs none.
    pub(super) fn decoder(self) -> Option<Decoder> {
        let known = self.0?;
        let (from, but, from_byte) = match known.reads {
            Decoding::Latin1 => return Some(Decoder::table(|byte| Some(char::from(byte)))),
            Decoding::Utf16(order) => return Some(Decoder::Utf16(order.new_decoder())),
            Decoding::Bytes { from, but } => (from, but, 0xa0),
            Decoding::CodePage { from, but } => (from, but, 0x80),
        };
        Some(Decoder::table(|byte| {
            if byte < from_byte {
                return Some(char::from(byte));
            }
            let text =
                from.decode_without_bom_handling_and_without_replacement(&[byte])?.into_owned();
            let letter = text.chars().next()?;
            (!letter.is_control() && !but.contains(&byte)).then_some(letter)
        }))
    }
}

fn plain_name(known: &EncodingFacts) -> String {
    known.name.replace('_', "").to_ascii_lowercase()
}

/// Converts the bytes of an input to UTF-8, block by block.
pub(super) enum Decoder {
    /// The text of each byte and its length.
    Table(Box<[(u8, [u8; 3]); 256]>),
    /// UTF-16, whose byte order and character boundaries depend on earlier bytes.
    Utf16(encoding_rs::Decoder),
}

impl Decoder {
    fn table(letter: impl Fn(u8) -> Option<char>) -> Self {
        let mut table = Box::new([(1, [NO_CHARACTER, 0, 0]); 256]);
        for (byte, entry) in (0..=u8::MAX).zip(table.iter_mut()) {
            if let Some(letter) = letter(byte) {
                let mut text = [0; 3];
                let length = letter.encode_utf8(&mut text).len();
                *entry = (length as u8, text);
            }
        }
        Self::Table(table)
    }

    /// Appends the text of `bytes`; `is_last` means that no more bytes follow.
    pub(super) fn decode(&mut self, bytes: &[u8], is_last: bool, text: &mut Vec<u8>) {
        match self {
            Self::Table(table) => decode_bytes(table, bytes, text),
            Self::Utf16(decoder) => decode_wide(decoder, bytes, is_last, text),
        }
    }
}

fn decode_bytes(table: &[(u8, [u8; 3]); 256], bytes: &[u8], text: &mut Vec<u8>) {
    let mut rest = bytes;
    while let Some(&byte) = rest.first() {
        if byte.is_ascii() {
            let (ascii, after) = rest.split_at(Library::ascii_valid_up_to(rest));
            text.extend_from_slice(ascii);
            rest = after;
        } else {
            let (length, letter) = &table[usize::from(byte)];
            text.extend_from_slice(&letter[..usize::from(*length)]);
            rest = &rest[1..];
        }
    }
}

fn decode_wide(
    decoder: &mut encoding_rs::Decoder,
    mut bytes: &[u8],
    is_last: bool,
    text: &mut Vec<u8>,
) {
    loop {
        let start = text.len();
        let room = decoder.max_utf8_buffer_length_without_replacement(bytes.len()).unwrap_or(16);
        text.resize(start + room, 0);
        let (result, read, written) =
            decoder.decode_to_utf8_without_replacement(bytes, &mut text[start..], is_last);
        text.truncate(start + written);
        bytes = &bytes[read..];
        match result {
            DecoderResult::InputEmpty => return,
            DecoderResult::OutputFull => {}
            DecoderResult::Malformed(..) => text.push(NO_CHARACTER),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(name: &str, parts: &[&[u8]]) -> Vec<u8> {
        let mut decoder =
            Encoding::from_name(name).and_then(Encoding::decoder).expect("an encoding");
        let mut text = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            decoder.decode(part, index + 1 == parts.len(), &mut text);
        }
        text
    }

    #[test]
    fn names_are_postgresqls() {
        for (name, expected) in [
            ("latin1", "LATIN1"),
            ("ISO-8859-1", "LATIN1"),
            ("windows-1252", "WIN1252"),
            ("UTF-8", "UTF8"),
            ("koi8-r", "KOI8R"),
            ("utf-16", "UTF16"),
        ] {
            assert_eq!(Encoding::from_name(name).map(Encoding::name), Some(expected), "{name}");
        }
        assert_eq!(Encoding::from_name("sjis"), None);
        assert!(Encoding::names().all(|name| Encoding::from_name(name).is_some()));
    }

    #[test]
    fn text_is_what_it_was_meant_to_be() {
        assert_eq!(decoded("latin1", &[b"a,\xe9\x80b"]), "a,é\u{80}b".as_bytes());
        assert_eq!(decoded("windows-1252", &[b"\x80 \xe9"]), "€ é".as_bytes());
        assert_eq!(decoded("windows-1252", &[b"a\x81b"]), b"a\xffb");
        assert_eq!(decoded("latin5", &[b"\x80\xf0"]), "\u{80}ğ".as_bytes());
    }

    #[test]
    fn utf_16_is_read_in_either_order_and_in_any_pieces() {
        let text = "\u{feff}1,ä€😀\r\n";
        let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        for bytes in [&little, &big] {
            let pieces: Vec<&[u8]> = bytes.chunks(3).collect();
            assert_eq!(decoded("utf-16", &pieces), "1,ä€😀\r\n".as_bytes());
        }
        assert_eq!(decoded("utf16", &[&little[2..]]), "1,ä€😀\r\n".as_bytes());
        assert_eq!(decoded("utf-16be", &[&big[2..]]), "1,ä€😀\r\n".as_bytes());
        assert_eq!(decoded("utf-16be", &[&little]), "1,ä€😀\r\n".as_bytes());
        assert_eq!(decoded("utf16", &[b"a\0b"]), b"a\xff");
    }
}
