//! Scratch.
use arrow_array::*;
use arrow_schema::*;
use pgsluice_arrow::*;
use pgsluice_core::types::{Column, ColumnType, Made};
use std::sync::Arc;
use std::time::Instant;
fn main() {
    let n = 60000usize;
    let k = || 0..n as i64;
    let dec = |m: i64| {
        Arc::new(
            Decimal128Array::from_iter_values(k().map(|v| (v * 7919 % m) as i128))
                .with_precision_and_scale(15, 2)
                .unwrap(),
        ) as ArrayRef
    };
    let date = || {
        Arc::new(Date32Array::from_iter_values(k().map(|v| 8000 + (v * 31 % 2500) as i32)))
            as ArrayRef
    };
    let s = |f: &dyn Fn(i64) -> String| {
        Arc::new(StringViewArray::from_iter_values(k().map(f))) as ArrayRef
    };
    let num = ColumnType {
        oid: 1700,
        modifier: ((15 << 16) | 2) + 4,
        name: "n".into(),
        made: Made::Alone,
    };
    let ty = |oid| ColumnType { oid, modifier: -1, name: "x".into(), made: Made::Alone };
    let ch = |m| ColumnType { oid: 1042, modifier: m + 4, name: "x".into(), made: Made::Alone };
    let c: Vec<(ArrayRef, ColumnType)> = vec![
        (Arc::new(Int64Array::from_iter_values(k())), ty(20)),
        (Arc::new(Int64Array::from_iter_values(k().map(|v| v % 20000))), ty(20)),
        (Arc::new(Int64Array::from_iter_values(k().map(|v| v % 1000))), ty(20)),
        (Arc::new(Int32Array::from_iter_values(k().map(|v| (v % 7) as i32))), ty(23)),
        (dec(5000), num.clone()),
        (dec(10000000), num.clone()),
        (dec(10), num.clone()),
        (dec(8), num.clone()),
        (s(&|v| if v % 3 == 0 { "R".into() } else { "N".into() }), ch(1)),
        (s(&|v| if v % 2 == 0 { "O".into() } else { "F".into() }), ch(1)),
        (date(), ty(1082)),
        (date(), ty(1082)),
        (date(), ty(1082)),
        (s(&|v| ["DELIVER IN PERSON", "COLLECT COD", "NONE"][v as usize % 3].into()), ch(25)),
        (s(&|v| ["TRUCK", "AIR", "MAIL"][v as usize % 3].into()), ch(10)),
        (
            s(&|v| format!("egular courts above the {v}")),
            ColumnType { oid: 1043, modifier: 48, name: "x".into(), made: Made::Alone },
        ),
    ];
    let (a, t): (Vec<_>, Vec<_>) = c.into_iter().unzip();
    let schema = Arc::new(Schema::new(
        a.iter().map(|x| Field::new("f", x.data_type().clone(), true)).collect::<Vec<_>>(),
    ));
    let b = RecordBatch::try_new(schema.clone(), a).unwrap();
    let f: Vec<_> = t
        .into_iter()
        .enumerate()
        .map(|(i, ty)| (i, Column { name: format!("c{i}"), ty }))
        .collect();
    let m = Mapping::new(&schema, &f).unwrap();
    let bd = m.bind(&b).unwrap();
    let mut out = Vec::with_capacity(1 << 20);
    let keys: Vec<bool> = (0..16).map(|i| i == 0).collect();
    for _ in 0..4 {
        let t = Instant::now();
        for i in 0..n {
            if out.len() > 1 << 19 {
                out.clear()
            }
            bd.put_binary(i, &mut out).unwrap();
        }
        let bi = t.elapsed();
        let t = Instant::now();
        for i in 0..n {
            if out.len() > 1 << 19 {
                out.clear()
            }
            bd.put_text(i, &mut out).unwrap();
        }
        let te = t.elapsed();
        let t = Instant::now();
        for i in 0..n {
            if out.len() > 1 << 19 {
                out.clear()
            }
            bd.put_keys(&keys, i, &mut out).unwrap();
        }
        let ke = t.elapsed();
        println!(
            "ns/row binary {} text {} keys {}",
            bi.as_nanos() / n as u128,
            te.as_nanos() / n as u128,
            ke.as_nanos() / n as u128
        );
    }
    for j in 0..16 {
        let m = Mapping::new(&schema, &f[j..j + 1]).unwrap();
        let bd = m.bind(&b).unwrap();
        let t = Instant::now();
        for _ in 0..3 {
            for i in 0..n {
                if out.len() > 1 << 19 {
                    out.clear()
                }
                bd.put_binary(i, &mut out).unwrap();
            }
        }
        print!("{j}:{} ", t.elapsed().as_nanos() / (3 * n as u128));
    }
    println!();
}
