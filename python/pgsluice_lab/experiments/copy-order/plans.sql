-- Plans in 36 range partitions by the first character of their id.

CREATE TABLE plans (
    id               text COLLATE "C" NOT NULL,
    plan             text NOT NULL,
    entered_on       timestamp with time zone DEFAULT now() NOT NULL,
    is_public        boolean DEFAULT true NOT NULL,
    is_anonymized    boolean DEFAULT false NOT NULL,
    title            text,
    delete_key       text,
    is_deleted       boolean DEFAULT false NOT NULL,
    added_by         text,
    optimization_for text
) PARTITION BY RANGE (id);

SELECT format(
    'CREATE TABLE plans_%s PARTITION OF plans (PRIMARY KEY (id)) FOR VALUES FROM (%s) TO (%s)',
    letter,
    CASE letter WHEN '0' THEN 'MINVALUE' ELSE quote_literal(letter) END,
    coalesce(quote_literal(lead(letter) OVER (ORDER BY place)), 'MAXVALUE'))
FROM unnest(string_to_array('0123456789abcdefghijklmnopqrstuvwxyz', NULL))
    WITH ORDINALITY AS letters (letter, place)
ORDER BY place
\gexec
