-- What the operator has set of providers over the API: one document of the whole server, with sealed keys.
CREATE TABLE provider_settings (
    the_only boolean PRIMARY KEY DEFAULT true CHECK (the_only),
    revision bigint NOT NULL,
    document jsonb NOT NULL,
    changed_at timestamptz NOT NULL DEFAULT now()
);
