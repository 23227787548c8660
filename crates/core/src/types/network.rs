//! inet and cidr: complete addresses, with or without the number of network bits.

// `core::net` has the address types without sockets.
use core::net::{Ipv4Addr, Ipv6Addr};
use std::cmp::Ordering;

use super::wire;
use crate::hash;

/// `PGSQL_AF_INET` and `PGSQL_AF_INET6`, `src/include/utils/inet.h`.
const FAMILY_4: u8 = 2;
const FAMILY_6: u8 = 3;

/// An `inet` or `cidr`, in the order of `network_cmp_internal` (`src/backend/utils/adt/network.c`, PostgreSQL 13
/// to 18): version 4 first, then by the bits common to both networks, then the wider network first, then by all
/// bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Network {
    v6: bool,
    bits: u8,
    /// The address; version 4 uses the first four bytes.
    address: [u8; 16],
}

impl Network {
    fn new(v6: bool, bits: Option<u8>, bytes: &[u8]) -> Option<Self> {
        let widest = if v6 { 128 } else { 32 };
        let bits = bits.unwrap_or(widest);
        let mut address = [0; 16];
        address.get_mut(..bytes.len())?.copy_from_slice(bytes);
        (bits <= widest && bytes.len() == usize::from(widest / 8)).then_some(Self {
            v6,
            bits,
            address,
        })
    }

    /// Appends bytes that sort as networks do: the version, a byte for each bit of the network, a 0, the
    /// address.
    pub(super) fn write(&self, bytes: &mut Vec<u8>) {
        let bit = |n: u8| self.address[usize::from(n / 8)] >> (7 - n % 8) & 1;
        bytes.push(self.v6.into());
        bytes.extend((0..self.bits).map(|n| 1 + bit(n)));
        bytes.push(0);
        bytes.extend(self.address);
    }

    /// Takes a network that [`Self::write`] wrote.
    pub(super) fn take(bytes: &mut &[u8]) -> Option<Self> {
        let (&v6, rest) = bytes.split_first()?;
        let bits = rest.iter().position(|&byte| byte == 0)?;
        let (address, rest) = rest.get(bits + 1..)?.split_first_chunk()?;
        *bytes = rest;
        Some(Self { v6: v6 != 0, bits: bits as u8, address: *address })
    }

    /// Appends a field that `network_recv` reads: family, bits, whether it is a cidr, length, address.
    fn put(&self, is_cidr: bool, field: &mut Vec<u8>) -> Option<()> {
        wire::put_with(field, |field| {
            let (family, length) = if self.v6 { (FAMILY_6, 16) } else { (FAMILY_4, 4) };
            field.extend([family, self.bits, is_cidr.into(), length]);
            field.extend(&self.address[..length.into()]);
            Some(())
        })
    }

    /// Returns the first `bits` bits of the address as a number.
    fn prefix(&self, bits: u8) -> u128 {
        let address = u128::from_be_bytes(self.address);
        address.checked_shr(128 - u32::from(bits)).unwrap_or(0)
    }
}

impl Ord for Network {
    fn cmp(&self, other: &Self) -> Ordering {
        let bits = self.bits.min(other.bits);
        self.v6
            .cmp(&other.v6)
            .then_with(|| self.prefix(bits).cmp(&other.prefix(bits)))
            .then_with(|| self.bits.cmp(&other.bits))
            .then_with(|| self.address.cmp(&other.address))
    }
}

impl PartialOrd for Network {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Parses a complete address like `inet_in` (`src/backend/utils/adt/network.c`, PostgreSQL 13 to 18): version 4
/// in plain decimal, version 6 in hexadecimal only.
pub(super) fn parse_inet(text: &[u8]) -> Option<Network> {
    let text = str::from_utf8(text).ok()?;
    let (address, bits) = match text.split_once('/') {
        Some((address, bits)) => (address, Some(parse_bits(bits)?)),
        None => (text, None),
    };
    if let Ok(address) = address.parse::<Ipv4Addr>() {
        return Network::new(false, bits, &address.octets());
    }
    if address.contains('.') {
        return None;
    }
    Network::new(true, bits, &address.parse::<Ipv6Addr>().ok()?.octets())
}

/// Parses like `cidr_in` (same file), which rejects an address with bits beyond those of the network.
pub(super) fn parse_cidr(text: &[u8]) -> Option<Network> {
    let network = parse_inet(text)?;
    let beyond = u128::from_be_bytes(network.address).checked_shl(network.bits.into());
    (beyond.unwrap_or(0) == 0).then_some(network)
}

/// Encodes the address that [`parse_inet`] reads as `inet_recv` (same file) expects it.
pub(super) fn encode_inet(text: &[u8], field: &mut Vec<u8>) -> Option<()> {
    parse_inet(text)?.put(false, field)
}

/// Encodes the address that [`parse_cidr`] reads as `cidr_recv` (same file) expects it.
pub(super) fn encode_cidr(text: &[u8], field: &mut Vec<u8>) -> Option<()> {
    parse_cidr(text)?.put(true, field)
}

fn parse_bits(text: &str) -> Option<u8> {
    match text.as_bytes() {
        [b'0'] => Some(0),
        [b'1'..=b'9', rest @ ..] if rest.iter().all(u8::is_ascii_digit) => text.parse().ok(),
        _ => None,
    }
}

/// Decodes the binary form that `network_recv` (`src/backend/utils/adt/network.c`) reads: family, bits, whether
/// it is a cidr, length, address.
pub(super) fn from_binary(bytes: &[u8]) -> Option<Network> {
    let [family, bits, _, _, address @ ..] = bytes else { return None };
    match *family {
        FAMILY_4 => Network::new(false, Some(*bits), address),
        FAMILY_6 => Network::new(true, Some(*bits), address),
        _ => None,
    }
}

/// Hashes like `hashinetextended` (`src/backend/utils/adt/network.c`, PostgreSQL 13 to 18).
pub(super) fn hash_extended(network: &Network, seed: u64) -> u64 {
    let mut bytes = [0; 18];
    let family = if network.v6 { FAMILY_6 } else { FAMILY_4 };
    let length = if network.v6 { 18 } else { 6 };
    (bytes[0], bytes[1]) = (family, network.bits);
    bytes[2..].copy_from_slice(&network.address);
    hash::bytes_extended(&bytes[..length], seed)
}

#[cfg(test)]
mod tests {
    use super::{Network, parse_cidr, parse_inet};

    #[test]
    fn networks_sort_before_what_is_in_them() {
        let ascending = [
            "0.0.0.0/0",
            "10.9.0.0/8",
            "10.0.0.0/16",
            "10.0.0.1/16",
            "10.0.0.0/24",
            "10.0.0.0",
            "10.1.0.0/16",
            "255.255.255.255",
            "::/0",
            "::",
            "::1",
            "fe80::/10",
            "FE80::1/64",
        ];
        let read = ascending.map(|text| parse_inet(text.as_bytes()));
        assert!(read.is_sorted_by(|a, b| a.is_some() && a < b), "{read:?}");
        let written = read.map(|network| {
            let mut bytes = Vec::new();
            network.unwrap().write(&mut bytes);
            assert_eq!(Network::take(&mut &bytes[..]), network);
            bytes
        });
        assert!(written.is_sorted_by(|a, b| a < b), "{written:?}");
    }

    #[test]
    fn anything_but_whole_addresses_is_left_to_the_server() {
        for text in [
            "",
            "10.0.0",
            "10/8",
            "10.0.0.01",
            "10.0.0.256",
            "10.0.0.0/33",
            "10.0.0.0/08",
            " ::",
            "::/129",
            "::ffff:1.2.3.4",
            "fe80::1%eth0",
            "1.2.3.4/",
            "1.2.3.4/+1",
            "12345::",
        ] {
            assert_eq!(parse_inet(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn a_cidr_has_no_bits_beyond_its_own() {
        assert!(parse_cidr(b"10.0.0.0/8").is_some() && parse_cidr(b"10.0.0.1").is_some());
        assert!(parse_cidr(b"0.0.0.0/0").is_some() && parse_cidr(b"::1/128").is_some());
        for text in ["10.1.0.0/8", "0.0.0.1/0", "::1/127", "fe80::1/64"] {
            assert_eq!(parse_cidr(text.as_bytes()), None, "{text}");
        }
    }
}
