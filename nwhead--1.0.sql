/* nwhead: Nadaraya-Watson classification over pgvector embeddings */

-- complain if the script is sourced in psql rather than by CREATE EXTENSION
\echo Use "CREATE EXTENSION nwhead CASCADE" to load this file. \quit

-- pgvector's types are found in pgvector's own schema and nowhere else
DO $$
DECLARE
	vector_schema text;
BEGIN
	SELECT n.nspname INTO vector_schema
	  FROM pg_catalog.pg_extension AS e
	  JOIN pg_catalog.pg_namespace AS n
	    ON n.oid OPERATOR(pg_catalog.=) e.extnamespace
	 WHERE e.extname OPERATOR(pg_catalog.=) 'vector';
	IF pg_catalog.to_regtype(pg_catalog.format('%I.halfvec', vector_schema)) IS NULL THEN
		RAISE EXCEPTION 'nwhead needs pgvector 0.7.0 or later'
			USING ERRCODE = 'feature_not_supported',
				  HINT = 'Install it, then run ALTER EXTENSION vector UPDATE.';
	END IF;
	PERFORM pg_catalog.set_config('search_path',
		pg_catalog.format('pg_catalog, %I, pg_temp', vector_schema), true);
END
$$;

--
-- Registry
--

CREATE SEQUENCE @extschema@.nw_version;

CREATE TABLE @extschema@.nw_registry (
	name text COLLATE "C" PRIMARY KEY,
	owner name NOT NULL,
	mode text NOT NULL,
	parent text COLLATE "C",
	schema name,
	relation name,
	embedding name,
	label name,
	id name,
	weight name,
	kernel text NOT NULL,
	tau float8 NOT NULL,
	k int4,
	seed int8,
	dim int4,
	version int8 NOT NULL
);

ALTER TABLE @extschema@.nw_registry OWNER TO @extowner@;
ALTER SEQUENCE @extschema@.nw_version OWNER TO @extowner@;
GRANT SELECT ON @extschema@.nw_registry TO PUBLIC;
SELECT pg_catalog.pg_extension_config_dump('@extschema@.nw_registry', '');
SELECT pg_catalog.pg_extension_config_dump('@extschema@.nw_version', '');

COMMENT ON SEQUENCE @extschema@.nw_version IS
	'versions of registered sets';
COMMENT ON TABLE @extschema@.nw_registry IS
	'registered sets; read it through nw_sets, change it through nw_register, nw_unregister and nw_set_tau';

CREATE VIEW @extschema@.nw_sets WITH (security_invoker) AS
	SELECT r.name, r.mode, r.parent,
		   pg_catalog.format('%I.%I', r.schema, r.relation) AS relation,
		   r.embedding, r.label, r.id, r.weight,
		   r.kernel, r.tau, r.k, r.seed, r.dim, r.owner
	  FROM @extschema@.nw_registry AS r;

ALTER VIEW @extschema@.nw_sets OWNER TO @extowner@;
GRANT SELECT ON @extschema@.nw_sets TO PUBLIC;
COMMENT ON VIEW @extschema@.nw_sets IS
	'registered sets: where their rows are, and how they are compared';

CREATE FUNCTION @extschema@.nw_register(name text, relation regclass,
	embedding name DEFAULT 'embedding', label name DEFAULT 'label',
	id name DEFAULT 'id', kernel text DEFAULT 'euclidean',
	tau float8 DEFAULT 1.0, weight name DEFAULT NULL,
	replace boolean DEFAULT false)
RETURNS void LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'nw_register';
COMMENT ON FUNCTION @extschema@.nw_register(text, regclass, name, name, name, text, float8, name, boolean) IS
	'register the rows of a relation as a set';

CREATE FUNCTION @extschema@.nw_unregister(name text)
RETURNS void LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'nw_unregister';
COMMENT ON FUNCTION @extschema@.nw_unregister(text) IS
	'remove a set from the registry; its relation stays';

CREATE FUNCTION @extschema@.nw_set_tau(name text, tau float8)
RETURNS void LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'nw_set_tau';
COMMENT ON FUNCTION @extschema@.nw_set_tau(text, float8) IS
	'change the temperature of a set';

--
-- Predictions
--

CREATE FUNCTION @extschema@.nw_predict(query vector, support text,
	classes text[] DEFAULT NULL, exclude text[] DEFAULT NULL,
	min_confidence float8 DEFAULT NULL)
RETURNS text LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_predict_vector';
COMMENT ON FUNCTION @extschema@.nw_predict(vector, text, text[], text[], float8) IS
	'the most probable label of a query';

CREATE FUNCTION @extschema@.nw_predict(query halfvec, support text,
	classes text[] DEFAULT NULL, exclude text[] DEFAULT NULL,
	min_confidence float8 DEFAULT NULL)
RETURNS text LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_predict_halfvec';
COMMENT ON FUNCTION @extschema@.nw_predict(halfvec, text, text[], text[], float8) IS
	'the most probable label of a query';

CREATE FUNCTION @extschema@.nw_predict(query text, support text,
	classes text[] DEFAULT NULL, exclude text[] DEFAULT NULL,
	min_confidence float8 DEFAULT NULL)
RETURNS text LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_predict_text';
COMMENT ON FUNCTION @extschema@.nw_predict(text, text, text[], text[], float8) IS
	'the most probable label of a query';

CREATE FUNCTION @extschema@.nw_classify(query vector, support text,
	classes text[] DEFAULT NULL, exclude text[] DEFAULT NULL,
	OUT label text, OUT confidence float8)
RETURNS record LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_classify_vector';
COMMENT ON FUNCTION @extschema@.nw_classify(vector, text, text[], text[]) IS
	'the most probable label of a query, and its probability';

CREATE FUNCTION @extschema@.nw_classify(query halfvec, support text,
	classes text[] DEFAULT NULL, exclude text[] DEFAULT NULL,
	OUT label text, OUT confidence float8)
RETURNS record LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_classify_halfvec';
COMMENT ON FUNCTION @extschema@.nw_classify(halfvec, text, text[], text[]) IS
	'the most probable label of a query, and its probability';

CREATE FUNCTION @extschema@.nw_classify(query text, support text,
	classes text[] DEFAULT NULL, exclude text[] DEFAULT NULL,
	OUT label text, OUT confidence float8)
RETURNS record LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_classify_text';
COMMENT ON FUNCTION @extschema@.nw_classify(text, text, text[], text[]) IS
	'the most probable label of a query, and its probability';

CREATE FUNCTION @extschema@.nw_predict_proba(query vector, support text,
	classes text[] DEFAULT NULL, exclude text[] DEFAULT NULL,
	top int DEFAULT NULL,
	OUT label text, OUT probability float8)
RETURNS SETOF record LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_predict_proba_vector';
COMMENT ON FUNCTION @extschema@.nw_predict_proba(vector, text, text[], text[], int) IS
	'the probability of every class, most probable first';

CREATE FUNCTION @extschema@.nw_predict_proba(query halfvec, support text,
	classes text[] DEFAULT NULL, exclude text[] DEFAULT NULL,
	top int DEFAULT NULL,
	OUT label text, OUT probability float8)
RETURNS SETOF record LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_predict_proba_halfvec';
COMMENT ON FUNCTION @extschema@.nw_predict_proba(halfvec, text, text[], text[], int) IS
	'the probability of every class, most probable first';

CREATE FUNCTION @extschema@.nw_predict_proba(query text, support text,
	classes text[] DEFAULT NULL, exclude text[] DEFAULT NULL,
	top int DEFAULT NULL,
	OUT label text, OUT probability float8)
RETURNS SETOF record LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_predict_proba_text';
COMMENT ON FUNCTION @extschema@.nw_predict_proba(text, text, text[], text[], int) IS
	'the probability of every class, most probable first';

CREATE FUNCTION @extschema@.nw_weights(query vector, support text,
	top int DEFAULT 10,
	classes text[] DEFAULT NULL, exclude text[] DEFAULT NULL,
	OUT support_id text, OUT label text, OUT distance float8, OUT weight float8)
RETURNS SETOF record LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_weights_vector';
COMMENT ON FUNCTION @extschema@.nw_weights(vector, text, int, text[], text[]) IS
	'the supports that a prediction rests on, heaviest first';

CREATE FUNCTION @extschema@.nw_weights(query halfvec, support text,
	top int DEFAULT 10,
	classes text[] DEFAULT NULL, exclude text[] DEFAULT NULL,
	OUT support_id text, OUT label text, OUT distance float8, OUT weight float8)
RETURNS SETOF record LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_weights_halfvec';
COMMENT ON FUNCTION @extschema@.nw_weights(halfvec, text, int, text[], text[]) IS
	'the supports that a prediction rests on, heaviest first';

CREATE FUNCTION @extschema@.nw_weights(query text, support text,
	top int DEFAULT 10,
	classes text[] DEFAULT NULL, exclude text[] DEFAULT NULL,
	OUT support_id text, OUT label text, OUT distance float8, OUT weight float8)
RETURNS SETOF record LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_weights_text';
COMMENT ON FUNCTION @extschema@.nw_weights(text, text, int, text[], text[]) IS
	'the supports that a prediction rests on, heaviest first';

CREATE FUNCTION @extschema@.nw_regress(query vector, support text,
	exclude text[] DEFAULT NULL)
RETURNS float8 LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_regress_vector';
COMMENT ON FUNCTION @extschema@.nw_regress(vector, text, text[]) IS
	'the weighted mean of numeric labels';

CREATE FUNCTION @extschema@.nw_regress(query halfvec, support text,
	exclude text[] DEFAULT NULL)
RETURNS float8 LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_regress_halfvec';
COMMENT ON FUNCTION @extschema@.nw_regress(halfvec, text, text[]) IS
	'the weighted mean of numeric labels';

CREATE FUNCTION @extschema@.nw_regress(query text, support text,
	exclude text[] DEFAULT NULL)
RETURNS float8 LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_regress_text';
COMMENT ON FUNCTION @extschema@.nw_regress(text, text, text[]) IS
	'the weighted mean of numeric labels';

--
-- Aggregates
--

CREATE FUNCTION @extschema@.nw_vote_accum(internal, text, float8)
RETURNS internal LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'nw_vote_accum';
COMMENT ON FUNCTION @extschema@.nw_vote_accum(internal, text, float8) IS
	'support for nw_vote and nw_argmax';

CREATE FUNCTION @extschema@.nw_vote_accum(internal, text, float8, float8)
RETURNS internal LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'nw_vote_accum';
COMMENT ON FUNCTION @extschema@.nw_vote_accum(internal, text, float8, float8) IS
	'support for nw_vote and nw_argmax';

CREATE FUNCTION @extschema@.nw_vote_combine(internal, internal)
RETURNS internal LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'nw_vote_combine';
COMMENT ON FUNCTION @extschema@.nw_vote_combine(internal, internal) IS
	'support for nw_vote and nw_argmax';

CREATE FUNCTION @extschema@.nw_vote_serialize(internal)
RETURNS bytea LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'nw_vote_serialize';
COMMENT ON FUNCTION @extschema@.nw_vote_serialize(internal) IS
	'support for nw_vote and nw_argmax';

CREATE FUNCTION @extschema@.nw_vote_deserialize(bytea, internal)
RETURNS internal LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'nw_vote_deserialize';
COMMENT ON FUNCTION @extschema@.nw_vote_deserialize(bytea, internal) IS
	'support for nw_vote and nw_argmax';

CREATE FUNCTION @extschema@.nw_vote_final(internal)
RETURNS jsonb LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'nw_vote_final';
COMMENT ON FUNCTION @extschema@.nw_vote_final(internal) IS
	'support for nw_vote and nw_argmax';

CREATE FUNCTION @extschema@.nw_argmax_final(internal)
RETURNS text LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'nw_argmax_final';
COMMENT ON FUNCTION @extschema@.nw_argmax_final(internal) IS
	'support for nw_vote and nw_argmax';

CREATE AGGREGATE @extschema@.nw_vote(label text, distance float8) (
	SFUNC = @extschema@.nw_vote_accum,
	STYPE = internal,
	FINALFUNC = @extschema@.nw_vote_final,
	COMBINEFUNC = @extschema@.nw_vote_combine,
	SERIALFUNC = @extschema@.nw_vote_serialize,
	DESERIALFUNC = @extschema@.nw_vote_deserialize,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE @extschema@.nw_vote(text, float8) IS
	'the probability of every label under a vote weighted by distance';

CREATE AGGREGATE @extschema@.nw_vote(label text, distance float8, tau float8) (
	SFUNC = @extschema@.nw_vote_accum,
	STYPE = internal,
	FINALFUNC = @extschema@.nw_vote_final,
	COMBINEFUNC = @extschema@.nw_vote_combine,
	SERIALFUNC = @extschema@.nw_vote_serialize,
	DESERIALFUNC = @extschema@.nw_vote_deserialize,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE @extschema@.nw_vote(text, float8, float8) IS
	'the probability of every label under a vote weighted by distance';

CREATE AGGREGATE @extschema@.nw_argmax(label text, distance float8) (
	SFUNC = @extschema@.nw_vote_accum,
	STYPE = internal,
	FINALFUNC = @extschema@.nw_argmax_final,
	COMBINEFUNC = @extschema@.nw_vote_combine,
	SERIALFUNC = @extschema@.nw_vote_serialize,
	DESERIALFUNC = @extschema@.nw_vote_deserialize,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE @extschema@.nw_argmax(text, float8) IS
	'the most probable label under a vote weighted by distance';

CREATE AGGREGATE @extschema@.nw_argmax(label text, distance float8, tau float8) (
	SFUNC = @extschema@.nw_vote_accum,
	STYPE = internal,
	FINALFUNC = @extschema@.nw_argmax_final,
	COMBINEFUNC = @extschema@.nw_vote_combine,
	SERIALFUNC = @extschema@.nw_vote_serialize,
	DESERIALFUNC = @extschema@.nw_vote_deserialize,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE @extschema@.nw_argmax(text, float8, float8) IS
	'the most probable label under a vote weighted by distance';
