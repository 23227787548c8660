//! The geometric types, spelled as the server writes them, encoded as the coordinates that their receive
//! functions expect. The receive functions order and reject values as the input functions do:
//! `src/backend/utils/adt/geo_ops.c`, PostgreSQL 13 to 18.

use super::{float, wire};

/// Encodes the point `(x,y)`, as `point_in` reads it.
pub(super) fn encode_point(text: &[u8], field: &mut Vec<u8>) -> Option<()> {
    encode(text, field, |shape| shape.point())
}

/// Encodes the line `{A,B,C}`, as `line_in` reads it.
pub(super) fn encode_line(text: &[u8], field: &mut Vec<u8>) -> Option<()> {
    encode(text, field, |shape| {
        shape.sign(b'{')?;
        shape.coordinate(b',')?;
        shape.coordinate(b',')?;
        shape.coordinate(b'}')
    })
}

/// Encodes the segment `[(x,y),(x,y)]`, as `lseg_in` reads it.
pub(super) fn encode_lseg(text: &[u8], field: &mut Vec<u8>) -> Option<()> {
    encode(text, field, |shape| {
        shape.sign(b'[')?;
        shape.two_points()?;
        shape.sign(b']')
    })
}

/// Encodes the box `(x,y),(x,y)`, as `box_in` reads it.
pub(super) fn encode_box(text: &[u8], field: &mut Vec<u8>) -> Option<()> {
    encode(text, field, |shape| shape.two_points())
}

/// Encodes the path `((x,y),...)`, or in brackets if it is open, as `path_in` reads it.
pub(super) fn encode_path(text: &[u8], field: &mut Vec<u8>) -> Option<()> {
    encode(text, field, |shape| match shape.text.first()? {
        b'[' => {
            shape.field.push(0);
            shape.points(b'[', b']')
        }
        _ => {
            shape.field.push(1);
            shape.points(b'(', b')')
        }
    })
}

/// Encodes the polygon `((x,y),...)`, as `poly_in` reads it.
pub(super) fn encode_polygon(text: &[u8], field: &mut Vec<u8>) -> Option<()> {
    encode(text, field, |shape| shape.points(b'(', b')'))
}

/// Encodes the circle `<(x,y),r>`, as `circle_in` reads it.
pub(super) fn encode_circle(text: &[u8], field: &mut Vec<u8>) -> Option<()> {
    encode(text, field, |shape| {
        shape.sign(b'<')?;
        shape.point()?;
        shape.sign(b',')?;
        shape.coordinate(b'>')
    })
}

fn encode(
    text: &[u8],
    field: &mut Vec<u8>,
    read: impl FnOnce(&mut GeometryShape<'_>) -> Option<()>,
) -> Option<()> {
    wire::put_with(field, |field| {
        let mut shape = GeometryShape { text, field };
        read(&mut shape)?;
        shape.text.is_empty().then_some(())
    })
}

/// The rest of the text, and the field written so far.
struct GeometryShape<'a> {
    text: &'a [u8],
    field: &'a mut Vec<u8>,
}

impl GeometryShape<'_> {
    fn sign(&mut self, sign: u8) -> Option<()> {
        self.text = self.text.strip_prefix(&[sign])?;
        Some(())
    }

    /// Reads a number and the character `end` after it.
    fn coordinate(&mut self, end: u8) -> Option<()> {
        let (number, rest) = self.text.split_at(memchr::memchr(end, self.text)?);
        self.field.extend(float::bits(number)?.to_be_bytes());
        self.text = &rest[1..];
        Some(())
    }

    fn point(&mut self) -> Option<()> {
        self.sign(b'(')?;
        self.coordinate(b',')?;
        self.coordinate(b')')
    }

    fn two_points(&mut self) -> Option<()> {
        self.point()?;
        self.sign(b',')?;
        self.point()
    }

    /// Reads at least one point between the characters `open` and `close`, and writes the number of points
    /// before them.
    fn points(&mut self, open: u8, close: u8) -> Option<()> {
        let counter = self.field.len();
        let mut count: u32 = 1;
        self.field.extend(count.to_be_bytes());
        self.sign(open)?;
        self.point()?;
        while self.text.first() == Some(&b',') {
            self.sign(b',')?;
            self.point()?;
            count += 1;
        }
        self.field[counter..counter + 4].copy_from_slice(&count.to_be_bytes());
        self.sign(close)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Encode = fn(&[u8], &mut Vec<u8>) -> Option<()>;

    #[test]
    fn shapes_are_their_coordinates() {
        for (encode, text, prefix, numbers) in [
            (encode_point as Encode, "(1,-2.5)", &[][..], &[1.0, -2.5][..]),
            (encode_line, "{1,2,3}", &[], &[1.0, 2.0, 3.0]),
            (encode_lseg, "[(1,2),(3,4)]", &[], &[1.0, 2.0, 3.0, 4.0]),
            (encode_box, "(3,4),(1,2)", &[], &[3.0, 4.0, 1.0, 2.0]),
            (encode_path, "((1,2),(3,4))", &[1, 0, 0, 0, 2], &[1.0, 2.0, 3.0, 4.0]),
            (encode_path, "[(1,2)]", &[0, 0, 0, 0, 1], &[1.0, 2.0]),
            (encode_polygon, "((1,2))", &[0, 0, 0, 1], &[1.0, 2.0]),
            (encode_circle, "<(1,2),3>", &[], &[1.0, 2.0, 3.0]),
        ] {
            let mut field = Vec::new();
            encode(text.as_bytes(), &mut field).expect(text);
            let numbers: Vec<u8> = numbers.iter().flat_map(|n: &f64| n.to_be_bytes()).collect();
            assert_eq!(field.split_off(4), [prefix, &numbers].concat(), "{text}");
        }
    }

    #[test]
    fn anything_else_is_left_to_the_server() {
        let all = [
            encode_point,
            encode_line,
            encode_lseg,
            encode_box,
            encode_path,
            encode_polygon,
            encode_circle,
        ];
        for text in ["", "()", "1,2", "(1,2", "(1,2,3)", "(1,2)x", "(1,)", "((1,2),)", "[]", "{1}"]
        {
            for encode in all {
                assert_eq!(encode(text.as_bytes(), &mut Vec::new()), None, "{text}");
            }
        }
    }
}
