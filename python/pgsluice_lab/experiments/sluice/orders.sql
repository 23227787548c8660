-- Orders: columns of many types, a range partition a month, each with 4 hash partitions.

CREATE TABLE orders (
    id         bigint NOT NULL,
    customer   integer NOT NULL,
    event      uuid NOT NULL,
    placed     timestamptz NOT NULL,
    shipped    date,
    state      text NOT NULL,
    total      numeric(12, 2) NOT NULL,
    tax        numeric(4, 2) NOT NULL,
    items      smallint NOT NULL,
    weight     double precision NOT NULL,
    gift       boolean NOT NULL,
    city       text
) PARTITION BY RANGE (placed);

SELECT format(
    'CREATE TABLE orders_%1$s PARTITION OF orders FOR VALUES FROM (%2$L) TO (%3$L)'
    ' PARTITION BY HASH (customer)',
    to_char(first, 'YYYYMM'), to_char(first, 'YYYY-MM-DD 00:00:00+00'),
    to_char(first + interval '1 month', 'YYYY-MM-DD 00:00:00+00'))
FROM generate_series(timestamp '2024-01-01', timestamp '2025-12-01', interval '1 month') AS first
\gexec

SELECT format(
    'CREATE TABLE orders_%1$s_%2$s PARTITION OF orders_%1$s'
    ' FOR VALUES WITH (MODULUS 4, REMAINDER %2$s)',
    to_char(first, 'YYYYMM'), part)
FROM generate_series(timestamp '2024-01-01', timestamp '2025-12-01', interval '1 month') AS first,
    generate_series(0, 3) AS part
\gexec
