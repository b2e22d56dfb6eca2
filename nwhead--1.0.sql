/* nwhead: Nadaraya-Watson classification over pgvector embeddings */

-- complain if the script is sourced in psql rather than by CREATE EXTENSION
\echo Use "CREATE EXTENSION nwhead CASCADE" to load this file. \quit

-- pgvector's types are found in pgvector's own schema and nowhere else, and are
-- members of the extension
DO $$
DECLARE
	vector_schema text;
BEGIN
	SELECT n.nspname INTO vector_schema
	  FROM pg_catalog.pg_extension AS e
	  JOIN pg_catalog.pg_namespace AS n
	    ON n.oid OPERATOR(pg_catalog.=) e.extnamespace
	  JOIN pg_catalog.pg_type AS t
	    ON t.typnamespace OPERATOR(pg_catalog.=) n.oid
	  JOIN pg_catalog.pg_depend AS d
	    ON d.objid OPERATOR(pg_catalog.=) t.oid
	   AND d.refobjid OPERATOR(pg_catalog.=) e.oid
	 WHERE e.extname OPERATOR(pg_catalog.=) 'vector'
	   AND t.typname OPERATOR(pg_catalog.=) 'halfvec'
	   AND d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_type'::pg_catalog.regclass
	   AND d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_extension'::pg_catalog.regclass
	   AND d.deptype OPERATOR(pg_catalog.=) 'e';
	IF vector_schema IS NULL THEN
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
-- The tables belong to the superuser that this script runs as, also where the
-- extension is trusted and belongs to somebody else: src/sets/own_tables.c.
--

CREATE SEQUENCE @extschema@.nw_version;

COMMENT ON SEQUENCE @extschema@.nw_version IS
	'ids and versions of registered sets';

CREATE TABLE @extschema@.nw_registry (
	set_id int8 PRIMARY KEY,
	name text COLLATE "C" NOT NULL CONSTRAINT nw_registry_name UNIQUE,
	owner regrole NOT NULL,
	mode text NOT NULL,
	parent text COLLATE "C",
	schema name,
	relation name,
	embedding name,
	label name,
	id name,
	weight name,
	kernel text,
	tau float8,
	k int4,
	seed int8,
	dim int4,
	version int8 NOT NULL,
	centroids boolean NOT NULL,
	model text,
	balance text,
	calibrated_at timestamptz,
	calibrated_rows int8,
	calibrated_changes int8,
	distilled_at timestamptz,
	distilled_rows int8,
	distilled_changes int8,
	temper float8 NOT NULL,
	tags boolean NOT NULL,
	members text[],
	shares float8[]
) USING heap;
GRANT SELECT ON @extschema@.nw_registry TO PUBLIC;
COMMENT ON TABLE @extschema@.nw_registry IS
	'registered sets; read it through nw_sets, change it through nw_register, nw_alter_set and nw_unregister';

CREATE FUNCTION @extschema@.nw_is_owner(owner regrole)
RETURNS boolean LANGUAGE c STABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'nw_is_owner';
COMMENT ON FUNCTION @extschema@.nw_is_owner(regrole) IS
	'whether the caller has the privileges of a role that owns sets';

CREATE FUNCTION @extschema@.nw_set_status(mode text, schema name, relation name,
	embedding name, label name, id name, weight name, dim int,
	members text[] DEFAULT NULL)
RETURNS text LANGUAGE c STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'nw_set_status';
COMMENT ON FUNCTION @extschema@.nw_set_status(text, name, name, name, name, name, name, int, text[]) IS
	'whether the catalogs still have what a set names';

CREATE VIEW @extschema@.nw_sets WITH (security_invoker) AS
	SELECT r.name, r.mode, r.parent,
		   CASE WHEN r.relation IS NOT NULL
			THEN pg_catalog.format('%I.%I', r.schema, r.relation) END AS relation,
		   r.embedding, r.label, r.id, r.weight,
		   r.kernel, r.tau, r.k, r.seed, r.dim,
		   (SELECT o.rolname
			  FROM pg_catalog.pg_roles AS o
			 WHERE o.oid OPERATOR(pg_catalog.=) r.owner) AS owner,
		   r.model,
		   @extschema@.nw_set_status(r.mode, r.schema, r.relation, r.embedding,
			r.label, r.id, r.weight, r.dim, r.members) AS status,
		   r.calibrated_at, r.calibrated_rows, r.distilled_at, r.distilled_rows,
		   r.balance, r.temper, r.tags, r.members, r.shares
	  FROM @extschema@.nw_registry AS r;

GRANT SELECT ON @extschema@.nw_sets TO PUBLIC;
COMMENT ON VIEW @extschema@.nw_sets IS
	'registered sets: where their rows are, how they are compared, and their state';

-- an argument that is not given leaves what the set has: NULL, or '' where NULL
-- means none
CREATE FUNCTION @extschema@.nw_register(name text, relation regclass DEFAULT NULL,
	embedding name DEFAULT NULL, label name DEFAULT '',
	id name DEFAULT '', kernel text DEFAULT NULL,
	tau float8 DEFAULT NULL, weight name DEFAULT '',
	replace boolean DEFAULT false, model text DEFAULT '', balance text DEFAULT NULL,
	temper float8 DEFAULT NULL, tags boolean DEFAULT NULL)
RETURNS void LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'nw_register';
COMMENT ON FUNCTION @extschema@.nw_register(text, regclass, name, name, name, text, float8, name, boolean, text, text, float8, boolean) IS
	'register the rows of a relation as a set';

CREATE FUNCTION @extschema@.nw_alter_set(name text, new_name text DEFAULT NULL,
	relation regclass DEFAULT NULL, embedding name DEFAULT NULL,
	label name DEFAULT '', id name DEFAULT '', weight name DEFAULT '',
	kernel text DEFAULT NULL, tau float8 DEFAULT NULL, model text DEFAULT '',
	balance text DEFAULT NULL, temper float8 DEFAULT NULL,
	tags boolean DEFAULT NULL)
RETURNS void LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'nw_alter_set';
COMMENT ON FUNCTION @extschema@.nw_alter_set(text, text, regclass, name, name, name, name, text, float8, text, text, float8, boolean) IS
	'rename a set, or change what it says of its rows';

CREATE FUNCTION @extschema@.nw_register_mixture(name text, sets text[],
	weights float8[] DEFAULT NULL, replace boolean DEFAULT false,
	temper float8 DEFAULT NULL)
RETURNS void LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'nw_register_mixture';
COMMENT ON FUNCTION @extschema@.nw_register_mixture(text, text[], float8[], boolean, float8) IS
	'register a set whose predictions are the average of those of other sets';

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
-- Prototypes, diagnoses and reference scores: copies of rows and what was made of
-- them, shown to members of the role that owns the set and to nobody else
--

CREATE TABLE @extschema@.nw_prototype (
	set_id int8 NOT NULL
		REFERENCES @extschema@.nw_registry ON DELETE CASCADE,
	label text NOT NULL,
	ordinal int4 NOT NULL,
	embedding vector NOT NULL,
	members int8 NOT NULL,
	source_id text,
	weight float8 NOT NULL
) USING heap;
CREATE INDEX nw_prototype_set ON @extschema@.nw_prototype (set_id);
ALTER TABLE @extschema@.nw_prototype ENABLE ROW LEVEL SECURITY;
CREATE POLICY nw_members ON @extschema@.nw_prototype FOR SELECT USING (
	EXISTS (SELECT 1
			  FROM @extschema@.nw_registry AS r
			 WHERE r.set_id OPERATOR(pg_catalog.=) nw_prototype.set_id
			   AND @extschema@.nw_is_owner(r.owner)));
GRANT SELECT ON @extschema@.nw_prototype TO PUBLIC;
COMMENT ON TABLE @extschema@.nw_prototype IS
	'rows of distilled sets; read it through nw_prototypes, change it through nw_distill';

CREATE VIEW @extschema@.nw_prototypes WITH (security_invoker) AS
	SELECT r.name AS set, p.label, p.ordinal, p.embedding, p.members,
		   p.source_id, p.weight
	  FROM @extschema@.nw_prototype AS p
	  JOIN @extschema@.nw_registry AS r
		ON r.set_id OPERATOR(pg_catalog.=) p.set_id;

GRANT SELECT ON @extschema@.nw_prototypes TO PUBLIC;
COMMENT ON VIEW @extschema@.nw_prototypes IS
	'rows of distilled sets, for members of the role that owns the set';

CREATE TABLE @extschema@.nw_diagnosed_influence (
	support int8 NOT NULL
		REFERENCES @extschema@.nw_registry ON DELETE CASCADE,
	queries int8 NOT NULL
		REFERENCES @extschema@.nw_registry ON DELETE CASCADE,
	helpful boolean NOT NULL,
	query_id text,
	truth text NOT NULL,
	predicted text NOT NULL,
	rank int4 NOT NULL,
	support_id text,
	label text NOT NULL,
	weight float8 NOT NULL,
	influence float8 NOT NULL
) USING heap;
CREATE INDEX nw_diagnosed_influence_support
	ON @extschema@.nw_diagnosed_influence (support, queries);
CREATE INDEX nw_diagnosed_influence_queries
	ON @extschema@.nw_diagnosed_influence (queries);
ALTER TABLE @extschema@.nw_diagnosed_influence ENABLE ROW LEVEL SECURITY;
CREATE POLICY nw_members ON @extschema@.nw_diagnosed_influence FOR SELECT USING (
	EXISTS (SELECT 1
			  FROM @extschema@.nw_registry AS r
			 WHERE r.set_id OPERATOR(pg_catalog.=) nw_diagnosed_influence.support
			   AND @extschema@.nw_is_owner(r.owner)));
GRANT SELECT ON @extschema@.nw_diagnosed_influence TO PUBLIC;
COMMENT ON TABLE @extschema@.nw_diagnosed_influence IS
	'what nw_diagnose found; read it through nw_helpful_supports and nw_harmful_supports';

CREATE TABLE @extschema@.nw_diagnosed_suspect (
	support int8 NOT NULL
		REFERENCES @extschema@.nw_registry ON DELETE CASCADE,
	queries int8 NOT NULL
		REFERENCES @extschema@.nw_registry ON DELETE CASCADE,
	support_id text,
	label text NOT NULL,
	suggested_label text NOT NULL,
	probability float8 NOT NULL,
	log_margin float8 NOT NULL,
	margin float8 NOT NULL,
	total_influence float8 NOT NULL,
	times_harmful int8 NOT NULL
) USING heap;
CREATE INDEX nw_diagnosed_suspect_support
	ON @extschema@.nw_diagnosed_suspect (support, queries);
CREATE INDEX nw_diagnosed_suspect_queries
	ON @extschema@.nw_diagnosed_suspect (queries);
ALTER TABLE @extschema@.nw_diagnosed_suspect ENABLE ROW LEVEL SECURITY;
CREATE POLICY nw_members ON @extschema@.nw_diagnosed_suspect FOR SELECT USING (
	EXISTS (SELECT 1
			  FROM @extschema@.nw_registry AS r
			 WHERE r.set_id OPERATOR(pg_catalog.=) nw_diagnosed_suspect.support
			   AND @extschema@.nw_is_owner(r.owner)));
GRANT SELECT ON @extschema@.nw_diagnosed_suspect TO PUBLIC;
COMMENT ON TABLE @extschema@.nw_diagnosed_suspect IS
	'what nw_diagnose found; read it through nw_suspect_supports';

CREATE TABLE @extschema@.nw_reference (
	set_id int8 NOT NULL
		REFERENCES @extschema@.nw_registry ON DELETE CASCADE,
	kind text COLLATE "C" NOT NULL,
	class text,
	version int8 NOT NULL,
	queries text,
	k int4,
	at timestamptz NOT NULL,
	scores float8[] NOT NULL
) USING heap;
CREATE INDEX nw_reference_set ON @extschema@.nw_reference (set_id, kind);
ALTER TABLE @extschema@.nw_reference ENABLE ROW LEVEL SECURITY;
CREATE POLICY nw_members ON @extschema@.nw_reference FOR SELECT USING (
	EXISTS (SELECT 1
			  FROM @extschema@.nw_registry AS r
			 WHERE r.set_id OPERATOR(pg_catalog.=) nw_reference.set_id
			   AND @extschema@.nw_is_owner(r.owner)));
GRANT SELECT ON @extschema@.nw_reference TO PUBLIC;
COMMENT ON TABLE @extschema@.nw_reference IS
	'scores that queries are compared with; read it through nw_reference_scores';

CREATE VIEW @extschema@.nw_reference_scores WITH (security_invoker) AS
	SELECT r.name AS set, s.kind, s.class, s.queries, s.k,
		   pg_catalog.cardinality(s.scores) AS n, s.at,
		   CASE WHEN r.members IS NULL
				THEN s.version OPERATOR(pg_catalog.=) r.version END AS current,
		   s.scores
	  FROM @extschema@.nw_reference AS s
	  JOIN @extschema@.nw_registry AS r
		ON r.set_id OPERATOR(pg_catalog.=) s.set_id;

GRANT SELECT ON @extschema@.nw_reference_scores TO PUBLIC;
COMMENT ON VIEW @extschema@.nw_reference_scores IS
	'scores that queries are compared with, for members of the role that owns the set';

CREATE VIEW @extschema@.nw_helpful_supports WITH (security_invoker) AS
	SELECT s.name AS support, q.name AS queries, d.query_id, d.truth,
		   d.predicted, d.rank, d.support_id, d.label, d.weight, d.influence
	  FROM @extschema@.nw_diagnosed_influence AS d
	  JOIN @extschema@.nw_registry AS s
		ON s.set_id OPERATOR(pg_catalog.=) d.support
	  JOIN @extschema@.nw_registry AS q
		ON q.set_id OPERATOR(pg_catalog.=) d.queries
	 WHERE d.helpful;

GRANT SELECT ON @extschema@.nw_helpful_supports TO PUBLIC;
COMMENT ON VIEW @extschema@.nw_helpful_supports IS
	'supports that helped most, for each query of a diagnosed set';

CREATE VIEW @extschema@.nw_harmful_supports WITH (security_invoker) AS
	SELECT s.name AS support, q.name AS queries, d.query_id, d.truth,
		   d.predicted, d.rank, d.support_id, d.label, d.weight, d.influence
	  FROM @extschema@.nw_diagnosed_influence AS d
	  JOIN @extschema@.nw_registry AS s
		ON s.set_id OPERATOR(pg_catalog.=) d.support
	  JOIN @extschema@.nw_registry AS q
		ON q.set_id OPERATOR(pg_catalog.=) d.queries
	 WHERE NOT d.helpful;

GRANT SELECT ON @extschema@.nw_harmful_supports TO PUBLIC;
COMMENT ON VIEW @extschema@.nw_harmful_supports IS
	'supports that harmed most, for each query of a diagnosed set';

CREATE VIEW @extschema@.nw_suspect_supports WITH (security_invoker) AS
	SELECT s.name AS support, q.name AS queries, d.support_id,
		   d.label, d.suggested_label, d.probability, d.log_margin, d.margin,
		   d.total_influence, d.times_harmful
	  FROM @extschema@.nw_diagnosed_suspect AS d
	  JOIN @extschema@.nw_registry AS s
		ON s.set_id OPERATOR(pg_catalog.=) d.support
	  JOIN @extschema@.nw_registry AS q
		ON q.set_id OPERATOR(pg_catalog.=) d.queries;

GRANT SELECT ON @extschema@.nw_suspect_supports TO PUBLIC;
COMMENT ON VIEW @extschema@.nw_suspect_supports IS
	'probable mislabels of diagnosed sets';

--
-- Dump and restore
--
-- pg_dump copies this table, which is always empty, instead of registry, prototypes
-- and scores: src/sql/dump.c.  It writes the condition given here behind "SELECT
-- columns FROM table", under an empty search_path.  The function that stands in
-- for the rows is in pg_catalog, since another schema may be renamed, and then
-- could not be found by the name that is noted here.
--

CREATE TABLE @extschema@.nw_saved (
	name text,
	owner name,
	mode text,
	parent text,
	schema name,
	relation name,
	embedding name,
	label name,
	id name,
	weight name,
	kernel text,
	tau float8,
	k int4,
	seed int8,
	dim int4,
	centroids boolean,
	model text,
	balance text,
	calibrated_at timestamptz,
	calibrated_rows int8,
	distilled_at timestamptz,
	distilled_rows int8,
	temper float8,
	tags boolean,
	class text,
	ordinal int4,
	vector vector,
	members int8,
	source_id text,
	mass float8,
	score_kind text,
	score_queries text,
	score_k int4,
	scored_at timestamptz,
	scores float8[],
	mixture text[],
	shares float8[],
	CONSTRAINT nw_restored_by_trigger CHECK (false)
) USING heap;
COMMENT ON TABLE @extschema@.nw_saved IS
	'registered sets, their prototypes and scores in a dump; always empty';

CREATE FUNCTION @extschema@.nw_restore()
RETURNS trigger LANGUAGE c
AS 'MODULE_PATHNAME', 'nw_restore';
COMMENT ON FUNCTION @extschema@.nw_restore() IS
	'register a set out of a dump, or store a prototype or scores';

REVOKE ALL ON FUNCTION @extschema@.nw_restore() FROM PUBLIC;

CREATE TRIGGER nw_restore BEFORE INSERT ON @extschema@.nw_saved
	FOR EACH ROW EXECUTE FUNCTION @extschema@.nw_restore();

ALTER TABLE @extschema@.nw_saved
	ENABLE ALWAYS TRIGGER nw_restore;

GRANT SELECT ON @extschema@.nw_saved TO PUBLIC;
GRANT INSERT ON @extschema@.nw_saved TO @extowner@;

CREATE FUNCTION pg_catalog.nw_dump(OUT name text, OUT owner name,
	OUT mode text, OUT parent text, OUT schema name, OUT relation name,
	OUT embedding name, OUT label name, OUT id name, OUT weight name,
	OUT kernel text, OUT tau float8, OUT k int4, OUT seed int8, OUT dim int4,
	OUT centroids boolean, OUT model text, OUT balance text,
	OUT calibrated_at timestamptz,
	OUT calibrated_rows int8, OUT distilled_at timestamptz,
	OUT distilled_rows int8, OUT temper float8, OUT tags boolean,
	OUT class text, OUT ordinal int4, OUT vector vector,
	OUT members int8, OUT source_id text, OUT mass float8,
	OUT score_kind text, OUT score_queries text, OUT score_k int4,
	OUT scored_at timestamptz, OUT scores float8[],
	OUT mixture text[], OUT shares float8[])
RETURNS SETOF record LANGUAGE c STABLE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'nw_dump';
COMMENT ON FUNCTION pg_catalog.nw_dump() IS
	'registered sets, and the prototypes and scores that the caller may read, for pg_dump';

-- the schema's name does not belong within quotes, so the table is looked up
SELECT pg_catalog.pg_extension_config_dump(c.oid,
		'WHERE false UNION ALL SELECT * FROM pg_catalog.nw_dump()')
  FROM pg_catalog.pg_class AS c
  JOIN pg_catalog.pg_extension AS e
	ON e.extnamespace OPERATOR(pg_catalog.=) c.relnamespace
 WHERE e.extname OPERATOR(pg_catalog.=) 'nwhead'
   AND c.relname OPERATOR(pg_catalog.=) 'nw_saved';

--
-- Predictions
--
-- What a caller writes without a type has to mean one thing: '[1,2]' is a text,
-- '{a,b}' a text[].  So each function has the same overloads, and of those that
-- could be meant PostgreSQL takes the one with the name of a set of type text, the
-- preferred type of its kind:
--
-- - query: text, or anyelement (src/sql/args.c says which types serve);
-- - exclude: text[], or numeric[] and uuid[] for the ids that most tables have,
--   with a name of type bpchar.
--
-- classes is an anycompatiblearray: the one polymorphic type that '{a,b}', NULL and
-- an untyped parameter make a text[] of.
--

CREATE FUNCTION @extschema@.nw_top_rows(internal)
RETURNS internal LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'nw_top_rows';
COMMENT ON FUNCTION @extschema@.nw_top_rows(internal) IS
	'how many rows the planner may expect of a function with an argument top';

CREATE FUNCTION @extschema@.nw_twice_top_rows(internal)
RETURNS internal LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'nw_twice_top_rows';
COMMENT ON FUNCTION @extschema@.nw_twice_top_rows(internal) IS
	'how many rows the planner may expect of nw_influence';

CREATE FUNCTION @extschema@.nw_predict(query anyelement, support text,
	classes anycompatiblearray DEFAULT NULL::text[], exclude text[] DEFAULT NULL,
	min_confidence float8 DEFAULT NULL, empty_ok boolean DEFAULT false,
	min_typicality float8 DEFAULT 0)
RETURNS text LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_predict';
COMMENT ON FUNCTION @extschema@.nw_predict(anyelement, text, anycompatiblearray, text[], float8, boolean, float8) IS
	'the most probable label of a query';

CREATE FUNCTION @extschema@.nw_predict(query anyelement, support bpchar,
	classes anycompatiblearray DEFAULT NULL::text[],
	exclude numeric[] DEFAULT NULL, min_confidence float8 DEFAULT NULL,
	empty_ok boolean DEFAULT false,
	min_typicality float8 DEFAULT 0)
RETURNS text LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_predict';
COMMENT ON FUNCTION @extschema@.nw_predict(anyelement, bpchar, anycompatiblearray, numeric[], float8, boolean, float8) IS
	'the most probable label of a query';

CREATE FUNCTION @extschema@.nw_predict(query anyelement, support bpchar,
	classes anycompatiblearray DEFAULT NULL::text[], exclude uuid[] DEFAULT NULL,
	min_confidence float8 DEFAULT NULL, empty_ok boolean DEFAULT false,
	min_typicality float8 DEFAULT 0)
RETURNS text LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_predict';
COMMENT ON FUNCTION @extschema@.nw_predict(anyelement, bpchar, anycompatiblearray, uuid[], float8, boolean, float8) IS
	'the most probable label of a query';

CREATE FUNCTION @extschema@.nw_predict(query text, support text,
	classes anycompatiblearray DEFAULT NULL::text[], exclude text[] DEFAULT NULL,
	min_confidence float8 DEFAULT NULL, empty_ok boolean DEFAULT false,
	min_typicality float8 DEFAULT 0)
RETURNS text LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_predict';
COMMENT ON FUNCTION @extschema@.nw_predict(text, text, anycompatiblearray, text[], float8, boolean, float8) IS
	'the most probable label of a query';

CREATE FUNCTION @extschema@.nw_predict(query text, support bpchar,
	classes anycompatiblearray DEFAULT NULL::text[],
	exclude numeric[] DEFAULT NULL, min_confidence float8 DEFAULT NULL,
	empty_ok boolean DEFAULT false,
	min_typicality float8 DEFAULT 0)
RETURNS text LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_predict';
COMMENT ON FUNCTION @extschema@.nw_predict(text, bpchar, anycompatiblearray, numeric[], float8, boolean, float8) IS
	'the most probable label of a query';

CREATE FUNCTION @extschema@.nw_predict(query text, support bpchar,
	classes anycompatiblearray DEFAULT NULL::text[], exclude uuid[] DEFAULT NULL,
	min_confidence float8 DEFAULT NULL, empty_ok boolean DEFAULT false,
	min_typicality float8 DEFAULT 0)
RETURNS text LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_predict';
COMMENT ON FUNCTION @extschema@.nw_predict(text, bpchar, anycompatiblearray, uuid[], float8, boolean, float8) IS
	'the most probable label of a query';

CREATE FUNCTION @extschema@.nw_classify(query anyelement, support text,
	classes anycompatiblearray DEFAULT NULL::text[], exclude text[] DEFAULT NULL,
	min_confidence float8 DEFAULT NULL, empty_ok boolean DEFAULT false,
	min_typicality float8 DEFAULT 0,
	OUT label text, OUT confidence float8, OUT typicality float8)
RETURNS record LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_classify';
COMMENT ON FUNCTION @extschema@.nw_classify(anyelement, text, anycompatiblearray, text[], float8, boolean, float8) IS
	'the most probable label of a query, its probability, and how typical the query is';

CREATE FUNCTION @extschema@.nw_classify(query anyelement, support bpchar,
	classes anycompatiblearray DEFAULT NULL::text[],
	exclude numeric[] DEFAULT NULL, min_confidence float8 DEFAULT NULL,
	empty_ok boolean DEFAULT false,
	min_typicality float8 DEFAULT 0,
	OUT label text, OUT confidence float8, OUT typicality float8)
RETURNS record LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_classify';
COMMENT ON FUNCTION @extschema@.nw_classify(anyelement, bpchar, anycompatiblearray, numeric[], float8, boolean, float8) IS
	'the most probable label of a query, its probability, and how typical the query is';

CREATE FUNCTION @extschema@.nw_classify(query anyelement, support bpchar,
	classes anycompatiblearray DEFAULT NULL::text[], exclude uuid[] DEFAULT NULL,
	min_confidence float8 DEFAULT NULL, empty_ok boolean DEFAULT false,
	min_typicality float8 DEFAULT 0,
	OUT label text, OUT confidence float8, OUT typicality float8)
RETURNS record LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_classify';
COMMENT ON FUNCTION @extschema@.nw_classify(anyelement, bpchar, anycompatiblearray, uuid[], float8, boolean, float8) IS
	'the most probable label of a query, its probability, and how typical the query is';

CREATE FUNCTION @extschema@.nw_classify(query text, support text,
	classes anycompatiblearray DEFAULT NULL::text[], exclude text[] DEFAULT NULL,
	min_confidence float8 DEFAULT NULL, empty_ok boolean DEFAULT false,
	min_typicality float8 DEFAULT 0,
	OUT label text, OUT confidence float8, OUT typicality float8)
RETURNS record LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_classify';
COMMENT ON FUNCTION @extschema@.nw_classify(text, text, anycompatiblearray, text[], float8, boolean, float8) IS
	'the most probable label of a query, its probability, and how typical the query is';

CREATE FUNCTION @extschema@.nw_classify(query text, support bpchar,
	classes anycompatiblearray DEFAULT NULL::text[],
	exclude numeric[] DEFAULT NULL, min_confidence float8 DEFAULT NULL,
	empty_ok boolean DEFAULT false,
	min_typicality float8 DEFAULT 0,
	OUT label text, OUT confidence float8, OUT typicality float8)
RETURNS record LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_classify';
COMMENT ON FUNCTION @extschema@.nw_classify(text, bpchar, anycompatiblearray, numeric[], float8, boolean, float8) IS
	'the most probable label of a query, its probability, and how typical the query is';

CREATE FUNCTION @extschema@.nw_classify(query text, support bpchar,
	classes anycompatiblearray DEFAULT NULL::text[], exclude uuid[] DEFAULT NULL,
	min_confidence float8 DEFAULT NULL, empty_ok boolean DEFAULT false,
	min_typicality float8 DEFAULT 0,
	OUT label text, OUT confidence float8, OUT typicality float8)
RETURNS record LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_classify';
COMMENT ON FUNCTION @extschema@.nw_classify(text, bpchar, anycompatiblearray, uuid[], float8, boolean, float8) IS
	'the most probable label of a query, its probability, and how typical the query is';

CREATE FUNCTION @extschema@.nw_predict_proba(query anyelement, support text,
	classes anycompatiblearray DEFAULT NULL::text[], exclude text[] DEFAULT NULL,
	top int DEFAULT NULL, empty_ok boolean DEFAULT false,
	OUT label text, OUT probability float8, OUT rank int)
RETURNS SETOF record LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
SUPPORT @extschema@.nw_top_rows
AS 'MODULE_PATHNAME', 'nw_predict_proba';
COMMENT ON FUNCTION @extschema@.nw_predict_proba(anyelement, text, anycompatiblearray, text[], int, boolean) IS
	'the probability of every class, most probable first';

CREATE FUNCTION @extschema@.nw_predict_proba(query anyelement, support bpchar,
	classes anycompatiblearray DEFAULT NULL::text[],
	exclude numeric[] DEFAULT NULL, top int DEFAULT NULL, empty_ok boolean DEFAULT false,
	OUT label text, OUT probability float8, OUT rank int)
RETURNS SETOF record LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
SUPPORT @extschema@.nw_top_rows
AS 'MODULE_PATHNAME', 'nw_predict_proba';
COMMENT ON FUNCTION @extschema@.nw_predict_proba(anyelement, bpchar, anycompatiblearray, numeric[], int, boolean) IS
	'the probability of every class, most probable first';

CREATE FUNCTION @extschema@.nw_predict_proba(query anyelement, support bpchar,
	classes anycompatiblearray DEFAULT NULL::text[], exclude uuid[] DEFAULT NULL,
	top int DEFAULT NULL, empty_ok boolean DEFAULT false,
	OUT label text, OUT probability float8, OUT rank int)
RETURNS SETOF record LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
SUPPORT @extschema@.nw_top_rows
AS 'MODULE_PATHNAME', 'nw_predict_proba';
COMMENT ON FUNCTION @extschema@.nw_predict_proba(anyelement, bpchar, anycompatiblearray, uuid[], int, boolean) IS
	'the probability of every class, most probable first';

CREATE FUNCTION @extschema@.nw_predict_proba(query text, support text,
	classes anycompatiblearray DEFAULT NULL::text[], exclude text[] DEFAULT NULL,
	top int DEFAULT NULL, empty_ok boolean DEFAULT false,
	OUT label text, OUT probability float8, OUT rank int)
RETURNS SETOF record LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
SUPPORT @extschema@.nw_top_rows
AS 'MODULE_PATHNAME', 'nw_predict_proba';
COMMENT ON FUNCTION @extschema@.nw_predict_proba(text, text, anycompatiblearray, text[], int, boolean) IS
	'the probability of every class, most probable first';

CREATE FUNCTION @extschema@.nw_predict_proba(query text, support bpchar,
	classes anycompatiblearray DEFAULT NULL::text[],
	exclude numeric[] DEFAULT NULL, top int DEFAULT NULL, empty_ok boolean DEFAULT false,
	OUT label text, OUT probability float8, OUT rank int)
RETURNS SETOF record LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
SUPPORT @extschema@.nw_top_rows
AS 'MODULE_PATHNAME', 'nw_predict_proba';
COMMENT ON FUNCTION @extschema@.nw_predict_proba(text, bpchar, anycompatiblearray, numeric[], int, boolean) IS
	'the probability of every class, most probable first';

CREATE FUNCTION @extschema@.nw_predict_proba(query text, support bpchar,
	classes anycompatiblearray DEFAULT NULL::text[], exclude uuid[] DEFAULT NULL,
	top int DEFAULT NULL, empty_ok boolean DEFAULT false,
	OUT label text, OUT probability float8, OUT rank int)
RETURNS SETOF record LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
SUPPORT @extschema@.nw_top_rows
AS 'MODULE_PATHNAME', 'nw_predict_proba';
COMMENT ON FUNCTION @extschema@.nw_predict_proba(text, bpchar, anycompatiblearray, uuid[], int, boolean) IS
	'the probability of every class, most probable first';

CREATE FUNCTION @extschema@.nw_plausible(query anyelement, support text,
	coverage float8 DEFAULT 0.9, classes anycompatiblearray DEFAULT NULL::text[],
	exclude text[] DEFAULT NULL, empty_ok boolean DEFAULT false)
RETURNS text[] LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_plausible';
COMMENT ON FUNCTION @extschema@.nw_plausible(anyelement, text, float8, anycompatiblearray, text[], boolean) IS
	'the labels that cover the truth, most probable first';

CREATE FUNCTION @extschema@.nw_plausible(query anyelement, support bpchar,
	coverage float8 DEFAULT 0.9, classes anycompatiblearray DEFAULT NULL::text[],
	exclude numeric[] DEFAULT NULL, empty_ok boolean DEFAULT false)
RETURNS text[] LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_plausible';
COMMENT ON FUNCTION @extschema@.nw_plausible(anyelement, bpchar, float8, anycompatiblearray, numeric[], boolean) IS
	'the labels that cover the truth, most probable first';

CREATE FUNCTION @extschema@.nw_plausible(query anyelement, support bpchar,
	coverage float8 DEFAULT 0.9, classes anycompatiblearray DEFAULT NULL::text[],
	exclude uuid[] DEFAULT NULL, empty_ok boolean DEFAULT false)
RETURNS text[] LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_plausible';
COMMENT ON FUNCTION @extschema@.nw_plausible(anyelement, bpchar, float8, anycompatiblearray, uuid[], boolean) IS
	'the labels that cover the truth, most probable first';

CREATE FUNCTION @extschema@.nw_plausible(query text, support text,
	coverage float8 DEFAULT 0.9, classes anycompatiblearray DEFAULT NULL::text[],
	exclude text[] DEFAULT NULL, empty_ok boolean DEFAULT false)
RETURNS text[] LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_plausible';
COMMENT ON FUNCTION @extschema@.nw_plausible(text, text, float8, anycompatiblearray, text[], boolean) IS
	'the labels that cover the truth, most probable first';

CREATE FUNCTION @extschema@.nw_plausible(query text, support bpchar,
	coverage float8 DEFAULT 0.9, classes anycompatiblearray DEFAULT NULL::text[],
	exclude numeric[] DEFAULT NULL, empty_ok boolean DEFAULT false)
RETURNS text[] LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_plausible';
COMMENT ON FUNCTION @extschema@.nw_plausible(text, bpchar, float8, anycompatiblearray, numeric[], boolean) IS
	'the labels that cover the truth, most probable first';

CREATE FUNCTION @extschema@.nw_plausible(query text, support bpchar,
	coverage float8 DEFAULT 0.9, classes anycompatiblearray DEFAULT NULL::text[],
	exclude uuid[] DEFAULT NULL, empty_ok boolean DEFAULT false)
RETURNS text[] LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_plausible';
COMMENT ON FUNCTION @extschema@.nw_plausible(text, bpchar, float8, anycompatiblearray, uuid[], boolean) IS
	'the labels that cover the truth, most probable first';

CREATE FUNCTION @extschema@.nw_weights(query anyelement, support text,
	top int DEFAULT 10, classes anycompatiblearray DEFAULT NULL::text[],
	exclude text[] DEFAULT NULL, empty_ok boolean DEFAULT false,
	OUT support_id text, OUT label text, OUT distance float8, OUT weight float8,
	OUT rank int, OUT member text)
RETURNS SETOF record LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
SUPPORT @extschema@.nw_top_rows
AS 'MODULE_PATHNAME', 'nw_weights';
COMMENT ON FUNCTION @extschema@.nw_weights(anyelement, text, int, anycompatiblearray, text[], boolean) IS
	'the supports that a prediction rests on, heaviest first';

CREATE FUNCTION @extschema@.nw_weights(query anyelement, support bpchar,
	top int DEFAULT 10, classes anycompatiblearray DEFAULT NULL::text[],
	exclude numeric[] DEFAULT NULL, empty_ok boolean DEFAULT false,
	OUT support_id text, OUT label text, OUT distance float8, OUT weight float8,
	OUT rank int, OUT member text)
RETURNS SETOF record LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
SUPPORT @extschema@.nw_top_rows
AS 'MODULE_PATHNAME', 'nw_weights';
COMMENT ON FUNCTION @extschema@.nw_weights(anyelement, bpchar, int, anycompatiblearray, numeric[], boolean) IS
	'the supports that a prediction rests on, heaviest first';

CREATE FUNCTION @extschema@.nw_weights(query anyelement, support bpchar,
	top int DEFAULT 10, classes anycompatiblearray DEFAULT NULL::text[],
	exclude uuid[] DEFAULT NULL, empty_ok boolean DEFAULT false,
	OUT support_id text, OUT label text, OUT distance float8, OUT weight float8,
	OUT rank int, OUT member text)
RETURNS SETOF record LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
SUPPORT @extschema@.nw_top_rows
AS 'MODULE_PATHNAME', 'nw_weights';
COMMENT ON FUNCTION @extschema@.nw_weights(anyelement, bpchar, int, anycompatiblearray, uuid[], boolean) IS
	'the supports that a prediction rests on, heaviest first';

CREATE FUNCTION @extschema@.nw_weights(query text, support text,
	top int DEFAULT 10, classes anycompatiblearray DEFAULT NULL::text[],
	exclude text[] DEFAULT NULL, empty_ok boolean DEFAULT false,
	OUT support_id text, OUT label text, OUT distance float8, OUT weight float8,
	OUT rank int, OUT member text)
RETURNS SETOF record LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
SUPPORT @extschema@.nw_top_rows
AS 'MODULE_PATHNAME', 'nw_weights';
COMMENT ON FUNCTION @extschema@.nw_weights(text, text, int, anycompatiblearray, text[], boolean) IS
	'the supports that a prediction rests on, heaviest first';

CREATE FUNCTION @extschema@.nw_weights(query text, support bpchar,
	top int DEFAULT 10, classes anycompatiblearray DEFAULT NULL::text[],
	exclude numeric[] DEFAULT NULL, empty_ok boolean DEFAULT false,
	OUT support_id text, OUT label text, OUT distance float8, OUT weight float8,
	OUT rank int, OUT member text)
RETURNS SETOF record LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
SUPPORT @extschema@.nw_top_rows
AS 'MODULE_PATHNAME', 'nw_weights';
COMMENT ON FUNCTION @extschema@.nw_weights(text, bpchar, int, anycompatiblearray, numeric[], boolean) IS
	'the supports that a prediction rests on, heaviest first';

CREATE FUNCTION @extschema@.nw_weights(query text, support bpchar,
	top int DEFAULT 10, classes anycompatiblearray DEFAULT NULL::text[],
	exclude uuid[] DEFAULT NULL, empty_ok boolean DEFAULT false,
	OUT support_id text, OUT label text, OUT distance float8, OUT weight float8,
	OUT rank int, OUT member text)
RETURNS SETOF record LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
SUPPORT @extschema@.nw_top_rows
AS 'MODULE_PATHNAME', 'nw_weights';
COMMENT ON FUNCTION @extschema@.nw_weights(text, bpchar, int, anycompatiblearray, uuid[], boolean) IS
	'the supports that a prediction rests on, heaviest first';

CREATE FUNCTION @extschema@.nw_explain(query anyelement, support text,
	top int DEFAULT 5, classes anycompatiblearray DEFAULT NULL::text[],
	exclude text[] DEFAULT NULL, empty_ok boolean DEFAULT false)
RETURNS jsonb LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_explain';
COMMENT ON FUNCTION @extschema@.nw_explain(anyelement, text, int, anycompatiblearray, text[], boolean) IS
	'a prediction, its probabilities and the supports it rests on';

CREATE FUNCTION @extschema@.nw_explain(query anyelement, support bpchar,
	top int DEFAULT 5, classes anycompatiblearray DEFAULT NULL::text[],
	exclude numeric[] DEFAULT NULL, empty_ok boolean DEFAULT false)
RETURNS jsonb LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_explain';
COMMENT ON FUNCTION @extschema@.nw_explain(anyelement, bpchar, int, anycompatiblearray, numeric[], boolean) IS
	'a prediction, its probabilities and the supports it rests on';

CREATE FUNCTION @extschema@.nw_explain(query anyelement, support bpchar,
	top int DEFAULT 5, classes anycompatiblearray DEFAULT NULL::text[],
	exclude uuid[] DEFAULT NULL, empty_ok boolean DEFAULT false)
RETURNS jsonb LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_explain';
COMMENT ON FUNCTION @extschema@.nw_explain(anyelement, bpchar, int, anycompatiblearray, uuid[], boolean) IS
	'a prediction, its probabilities and the supports it rests on';

CREATE FUNCTION @extschema@.nw_explain(query text, support text,
	top int DEFAULT 5, classes anycompatiblearray DEFAULT NULL::text[],
	exclude text[] DEFAULT NULL, empty_ok boolean DEFAULT false)
RETURNS jsonb LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_explain';
COMMENT ON FUNCTION @extschema@.nw_explain(text, text, int, anycompatiblearray, text[], boolean) IS
	'a prediction, its probabilities and the supports it rests on';

CREATE FUNCTION @extschema@.nw_explain(query text, support bpchar,
	top int DEFAULT 5, classes anycompatiblearray DEFAULT NULL::text[],
	exclude numeric[] DEFAULT NULL, empty_ok boolean DEFAULT false)
RETURNS jsonb LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_explain';
COMMENT ON FUNCTION @extschema@.nw_explain(text, bpchar, int, anycompatiblearray, numeric[], boolean) IS
	'a prediction, its probabilities and the supports it rests on';

CREATE FUNCTION @extschema@.nw_explain(query text, support bpchar,
	top int DEFAULT 5, classes anycompatiblearray DEFAULT NULL::text[],
	exclude uuid[] DEFAULT NULL, empty_ok boolean DEFAULT false)
RETURNS jsonb LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_explain';
COMMENT ON FUNCTION @extschema@.nw_explain(text, bpchar, int, anycompatiblearray, uuid[], boolean) IS
	'a prediction, its probabilities and the supports it rests on';

CREATE FUNCTION @extschema@.nw_predict_tags(query anyelement, support text,
	exclude text[] DEFAULT NULL, top int DEFAULT NULL,
	min_probability float8 DEFAULT 0, empty_ok boolean DEFAULT false,
	OUT tag text, OUT probability float8, OUT rank int)
RETURNS SETOF record LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
SUPPORT @extschema@.nw_top_rows
AS 'MODULE_PATHNAME', 'nw_predict_tags';
COMMENT ON FUNCTION @extschema@.nw_predict_tags(anyelement, text, text[], int, float8, boolean) IS
	'tags of a query with their probabilities, most probable first';

CREATE FUNCTION @extschema@.nw_predict_tags(query anyelement, support bpchar,
	exclude numeric[] DEFAULT NULL, top int DEFAULT NULL,
	min_probability float8 DEFAULT 0, empty_ok boolean DEFAULT false,
	OUT tag text, OUT probability float8, OUT rank int)
RETURNS SETOF record LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
SUPPORT @extschema@.nw_top_rows
AS 'MODULE_PATHNAME', 'nw_predict_tags';
COMMENT ON FUNCTION @extschema@.nw_predict_tags(anyelement, bpchar, numeric[], int, float8, boolean) IS
	'tags of a query with their probabilities, most probable first';

CREATE FUNCTION @extschema@.nw_predict_tags(query anyelement, support bpchar,
	exclude uuid[] DEFAULT NULL, top int DEFAULT NULL,
	min_probability float8 DEFAULT 0, empty_ok boolean DEFAULT false,
	OUT tag text, OUT probability float8, OUT rank int)
RETURNS SETOF record LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
SUPPORT @extschema@.nw_top_rows
AS 'MODULE_PATHNAME', 'nw_predict_tags';
COMMENT ON FUNCTION @extschema@.nw_predict_tags(anyelement, bpchar, uuid[], int, float8, boolean) IS
	'tags of a query with their probabilities, most probable first';

CREATE FUNCTION @extschema@.nw_predict_tags(query text, support text,
	exclude text[] DEFAULT NULL, top int DEFAULT NULL,
	min_probability float8 DEFAULT 0, empty_ok boolean DEFAULT false,
	OUT tag text, OUT probability float8, OUT rank int)
RETURNS SETOF record LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
SUPPORT @extschema@.nw_top_rows
AS 'MODULE_PATHNAME', 'nw_predict_tags';
COMMENT ON FUNCTION @extschema@.nw_predict_tags(text, text, text[], int, float8, boolean) IS
	'tags of a query with their probabilities, most probable first';

CREATE FUNCTION @extschema@.nw_predict_tags(query text, support bpchar,
	exclude numeric[] DEFAULT NULL, top int DEFAULT NULL,
	min_probability float8 DEFAULT 0, empty_ok boolean DEFAULT false,
	OUT tag text, OUT probability float8, OUT rank int)
RETURNS SETOF record LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
SUPPORT @extschema@.nw_top_rows
AS 'MODULE_PATHNAME', 'nw_predict_tags';
COMMENT ON FUNCTION @extschema@.nw_predict_tags(text, bpchar, numeric[], int, float8, boolean) IS
	'tags of a query with their probabilities, most probable first';

CREATE FUNCTION @extschema@.nw_predict_tags(query text, support bpchar,
	exclude uuid[] DEFAULT NULL, top int DEFAULT NULL,
	min_probability float8 DEFAULT 0, empty_ok boolean DEFAULT false,
	OUT tag text, OUT probability float8, OUT rank int)
RETURNS SETOF record LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
SUPPORT @extschema@.nw_top_rows
AS 'MODULE_PATHNAME', 'nw_predict_tags';
COMMENT ON FUNCTION @extschema@.nw_predict_tags(text, bpchar, uuid[], int, float8, boolean) IS
	'tags of a query with their probabilities, most probable first';

CREATE FUNCTION @extschema@.nw_regress(query anyelement, support text,
	exclude text[] DEFAULT NULL, empty_ok boolean DEFAULT false)
RETURNS float8 LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_regress';
COMMENT ON FUNCTION @extschema@.nw_regress(anyelement, text, text[], boolean) IS
	'the weighted mean of numeric labels';

CREATE FUNCTION @extschema@.nw_regress(query anyelement, support bpchar,
	exclude numeric[] DEFAULT NULL, empty_ok boolean DEFAULT false)
RETURNS float8 LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_regress';
COMMENT ON FUNCTION @extschema@.nw_regress(anyelement, bpchar, numeric[], boolean) IS
	'the weighted mean of numeric labels';

CREATE FUNCTION @extschema@.nw_regress(query anyelement, support bpchar,
	exclude uuid[] DEFAULT NULL, empty_ok boolean DEFAULT false)
RETURNS float8 LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_regress';
COMMENT ON FUNCTION @extschema@.nw_regress(anyelement, bpchar, uuid[], boolean) IS
	'the weighted mean of numeric labels';

CREATE FUNCTION @extschema@.nw_regress(query text, support text,
	exclude text[] DEFAULT NULL, empty_ok boolean DEFAULT false)
RETURNS float8 LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_regress';
COMMENT ON FUNCTION @extschema@.nw_regress(text, text, text[], boolean) IS
	'the weighted mean of numeric labels';

CREATE FUNCTION @extschema@.nw_regress(query text, support bpchar,
	exclude numeric[] DEFAULT NULL, empty_ok boolean DEFAULT false)
RETURNS float8 LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_regress';
COMMENT ON FUNCTION @extschema@.nw_regress(text, bpchar, numeric[], boolean) IS
	'the weighted mean of numeric labels';

CREATE FUNCTION @extschema@.nw_regress(query text, support bpchar,
	exclude uuid[] DEFAULT NULL, empty_ok boolean DEFAULT false)
RETURNS float8 LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_regress';
COMMENT ON FUNCTION @extschema@.nw_regress(text, bpchar, uuid[], boolean) IS
	'the weighted mean of numeric labels';

CREATE FUNCTION @extschema@.nw_regress_interval(query anyelement, support text,
	coverage float8 DEFAULT 0.9,
	exclude text[] DEFAULT NULL, empty_ok boolean DEFAULT false,
	OUT mean float8, OUT variance float8, OUT low float8, OUT high float8)
RETURNS record LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_regress_interval';
COMMENT ON FUNCTION @extschema@.nw_regress_interval(anyelement, text, float8, text[], boolean) IS
	'the weighted mean of numeric labels, their variance, and an interval that covers the truth';

CREATE FUNCTION @extschema@.nw_regress_interval(query anyelement, support bpchar,
	coverage float8 DEFAULT 0.9,
	exclude numeric[] DEFAULT NULL, empty_ok boolean DEFAULT false,
	OUT mean float8, OUT variance float8, OUT low float8, OUT high float8)
RETURNS record LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_regress_interval';
COMMENT ON FUNCTION @extschema@.nw_regress_interval(anyelement, bpchar, float8, numeric[], boolean) IS
	'the weighted mean of numeric labels, their variance, and an interval that covers the truth';

CREATE FUNCTION @extschema@.nw_regress_interval(query anyelement, support bpchar,
	coverage float8 DEFAULT 0.9,
	exclude uuid[] DEFAULT NULL, empty_ok boolean DEFAULT false,
	OUT mean float8, OUT variance float8, OUT low float8, OUT high float8)
RETURNS record LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_regress_interval';
COMMENT ON FUNCTION @extschema@.nw_regress_interval(anyelement, bpchar, float8, uuid[], boolean) IS
	'the weighted mean of numeric labels, their variance, and an interval that covers the truth';

CREATE FUNCTION @extschema@.nw_regress_interval(query text, support text,
	coverage float8 DEFAULT 0.9,
	exclude text[] DEFAULT NULL, empty_ok boolean DEFAULT false,
	OUT mean float8, OUT variance float8, OUT low float8, OUT high float8)
RETURNS record LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_regress_interval';
COMMENT ON FUNCTION @extschema@.nw_regress_interval(text, text, float8, text[], boolean) IS
	'the weighted mean of numeric labels, their variance, and an interval that covers the truth';

CREATE FUNCTION @extschema@.nw_regress_interval(query text, support bpchar,
	coverage float8 DEFAULT 0.9,
	exclude numeric[] DEFAULT NULL, empty_ok boolean DEFAULT false,
	OUT mean float8, OUT variance float8, OUT low float8, OUT high float8)
RETURNS record LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_regress_interval';
COMMENT ON FUNCTION @extschema@.nw_regress_interval(text, bpchar, float8, numeric[], boolean) IS
	'the weighted mean of numeric labels, their variance, and an interval that covers the truth';

CREATE FUNCTION @extschema@.nw_regress_interval(query text, support bpchar,
	coverage float8 DEFAULT 0.9,
	exclude uuid[] DEFAULT NULL, empty_ok boolean DEFAULT false,
	OUT mean float8, OUT variance float8, OUT low float8, OUT high float8)
RETURNS record LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_regress_interval';
COMMENT ON FUNCTION @extschema@.nw_regress_interval(text, bpchar, float8, uuid[], boolean) IS
	'the weighted mean of numeric labels, their variance, and an interval that covers the truth';

CREATE FUNCTION @extschema@.nw_influence(query anyelement, truth text, support text,
	top int DEFAULT 5, classes anycompatiblearray DEFAULT NULL::text[],
	exclude text[] DEFAULT NULL, empty_ok boolean DEFAULT false,
	OUT support_id text, OUT label text, OUT distance float8, OUT weight float8,
	OUT influence float8, OUT effect text, OUT rank int, OUT member text)
RETURNS SETOF record LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
SUPPORT @extschema@.nw_twice_top_rows
AS 'MODULE_PATHNAME', 'nw_influence';
COMMENT ON FUNCTION @extschema@.nw_influence(anyelement, text, text, int, anycompatiblearray, text[], boolean) IS
	'the supports that helped and harmed a prediction most';

CREATE FUNCTION @extschema@.nw_influence(query anyelement, truth text, support bpchar,
	top int DEFAULT 5, classes anycompatiblearray DEFAULT NULL::text[],
	exclude numeric[] DEFAULT NULL, empty_ok boolean DEFAULT false,
	OUT support_id text, OUT label text, OUT distance float8, OUT weight float8,
	OUT influence float8, OUT effect text, OUT rank int, OUT member text)
RETURNS SETOF record LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
SUPPORT @extschema@.nw_twice_top_rows
AS 'MODULE_PATHNAME', 'nw_influence';
COMMENT ON FUNCTION @extschema@.nw_influence(anyelement, text, bpchar, int, anycompatiblearray, numeric[], boolean) IS
	'the supports that helped and harmed a prediction most';

CREATE FUNCTION @extschema@.nw_influence(query anyelement, truth text, support bpchar,
	top int DEFAULT 5, classes anycompatiblearray DEFAULT NULL::text[],
	exclude uuid[] DEFAULT NULL, empty_ok boolean DEFAULT false,
	OUT support_id text, OUT label text, OUT distance float8, OUT weight float8,
	OUT influence float8, OUT effect text, OUT rank int, OUT member text)
RETURNS SETOF record LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
SUPPORT @extschema@.nw_twice_top_rows
AS 'MODULE_PATHNAME', 'nw_influence';
COMMENT ON FUNCTION @extschema@.nw_influence(anyelement, text, bpchar, int, anycompatiblearray, uuid[], boolean) IS
	'the supports that helped and harmed a prediction most';

CREATE FUNCTION @extschema@.nw_influence(query text, truth text, support text,
	top int DEFAULT 5, classes anycompatiblearray DEFAULT NULL::text[],
	exclude text[] DEFAULT NULL, empty_ok boolean DEFAULT false,
	OUT support_id text, OUT label text, OUT distance float8, OUT weight float8,
	OUT influence float8, OUT effect text, OUT rank int, OUT member text)
RETURNS SETOF record LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
SUPPORT @extschema@.nw_twice_top_rows
AS 'MODULE_PATHNAME', 'nw_influence';
COMMENT ON FUNCTION @extschema@.nw_influence(text, text, text, int, anycompatiblearray, text[], boolean) IS
	'the supports that helped and harmed a prediction most';

CREATE FUNCTION @extschema@.nw_influence(query text, truth text, support bpchar,
	top int DEFAULT 5, classes anycompatiblearray DEFAULT NULL::text[],
	exclude numeric[] DEFAULT NULL, empty_ok boolean DEFAULT false,
	OUT support_id text, OUT label text, OUT distance float8, OUT weight float8,
	OUT influence float8, OUT effect text, OUT rank int, OUT member text)
RETURNS SETOF record LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
SUPPORT @extschema@.nw_twice_top_rows
AS 'MODULE_PATHNAME', 'nw_influence';
COMMENT ON FUNCTION @extschema@.nw_influence(text, text, bpchar, int, anycompatiblearray, numeric[], boolean) IS
	'the supports that helped and harmed a prediction most';

CREATE FUNCTION @extschema@.nw_influence(query text, truth text, support bpchar,
	top int DEFAULT 5, classes anycompatiblearray DEFAULT NULL::text[],
	exclude uuid[] DEFAULT NULL, empty_ok boolean DEFAULT false,
	OUT support_id text, OUT label text, OUT distance float8, OUT weight float8,
	OUT influence float8, OUT effect text, OUT rank int, OUT member text)
RETURNS SETOF record LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
SUPPORT @extschema@.nw_twice_top_rows
AS 'MODULE_PATHNAME', 'nw_influence';
COMMENT ON FUNCTION @extschema@.nw_influence(text, text, bpchar, int, anycompatiblearray, uuid[], boolean) IS
	'the supports that helped and harmed a prediction most';

--
-- Whole sets
--

CREATE FUNCTION @extschema@.nw_predict_set(support text, queries text,
	leave_one_out boolean DEFAULT NULL,
	OUT query_id text, OUT truth text, OUT label text, OUT confidence float8,
	OUT truth_probability float8, OUT loss float8,
	OUT support_set text, OUT query_set text, OUT tau float8,
	OUT brier float8, OUT typicality float8)
RETURNS SETOF record LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_predict_set';
COMMENT ON FUNCTION @extschema@.nw_predict_set(text, text, boolean) IS
	'a prediction for every row of a set';

CREATE FUNCTION @extschema@.nw_evaluate(support text, queries text,
	bins int DEFAULT 15, leave_one_out boolean DEFAULT NULL,
	OUT support_set text, OUT query_set text, OUT tau float8,
	OUT n bigint, OUT unlabelled bigint, OUT unseen bigint,
	OUT error_rate float8, OUT nll float8, OUT brier float8, OUT ece float8,
	OUT mce float8, OUT label_match float8, OUT temper float8)
RETURNS record LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_evaluate';
COMMENT ON FUNCTION @extschema@.nw_evaluate(text, text, int, boolean) IS
	'how good the predictions for a labelled set are';

CREATE FUNCTION @extschema@.nw_evaluate_regression(support text, queries text,
	leave_one_out boolean DEFAULT NULL,
	OUT support_set text, OUT query_set text, OUT tau float8,
	OUT n bigint, OUT unlabelled bigint, OUT rmse float8, OUT mae float8,
	OUT bias float8, OUT r2 float8)
RETURNS record LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_evaluate_regression';
COMMENT ON FUNCTION @extschema@.nw_evaluate_regression(text, text, boolean) IS
	'how good the predicted numbers for a labelled set are';

CREATE FUNCTION @extschema@.nw_confusion(support text, queries text,
	leave_one_out boolean DEFAULT NULL,
	OUT truth text, OUT predicted text, OUT n bigint,
	OUT mean_confidence float8,
	OUT support_set text, OUT query_set text, OUT tau float8)
RETURNS SETOF record LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_confusion';
COMMENT ON FUNCTION @extschema@.nw_confusion(text, text, boolean) IS
	'which labels are taken for which';

CREATE FUNCTION @extschema@.nw_class_report(support text, queries text,
	leave_one_out boolean DEFAULT NULL,
	OUT label text, OUT n bigint, OUT predicted bigint, OUT correct bigint,
	OUT "precision" float8, OUT recall float8, OUT f1 float8,
	OUT support_set text, OUT query_set text, OUT tau float8)
RETURNS SETOF record LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_class_report';
COMMENT ON FUNCTION @extschema@.nw_class_report(text, text, boolean) IS
	'how well each label is predicted';

CREATE FUNCTION @extschema@.nw_reliability(support text, queries text,
	bins int DEFAULT 15, leave_one_out boolean DEFAULT NULL,
	OUT bin int, OUT lower float8, OUT upper float8, OUT n bigint,
	OUT confidence float8, OUT accuracy float8, OUT gap float8,
	OUT support_set text, OUT query_set text, OUT tau float8)
RETURNS SETOF record LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_reliability';
COMMENT ON FUNCTION @extschema@.nw_reliability(text, text, int, boolean) IS
	'confidence against accuracy, by bins of confidence';

CREATE FUNCTION @extschema@.nw_evaluate_tags(support text, queries text,
	min_probability float8 DEFAULT 0.5, leave_one_out boolean DEFAULT NULL,
	OUT tag text, OUT n bigint, OUT predicted bigint, OUT correct bigint,
	OUT "precision" float8, OUT recall float8, OUT f1 float8, OUT brier float8,
	OUT support_set text, OUT query_set text, OUT tau float8)
RETURNS SETOF record LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_evaluate_tags';
COMMENT ON FUNCTION @extschema@.nw_evaluate_tags(text, text, float8, boolean) IS
	'for each tag, how often it is found, and how often wrongly';

CREATE FUNCTION @extschema@.nw_coverage(support text, queries text,
	leave_one_out boolean DEFAULT NULL,
	OUT threshold float8, OUT n bigint, OUT coverage float8, OUT wrong bigint,
	OUT error_rate float8,
	OUT support_set text, OUT query_set text, OUT tau float8)
RETURNS SETOF record LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_coverage';
COMMENT ON FUNCTION @extschema@.nw_coverage(text, text, boolean) IS
	'how many queries each min_confidence answers, and how many of these wrongly';

CREATE FUNCTION @extschema@.nw_threshold(support text, queries text,
	max_error float8, leave_one_out boolean DEFAULT NULL,
	OUT threshold float8, OUT n bigint, OUT coverage float8, OUT wrong bigint,
	OUT error_rate float8,
	OUT support_set text, OUT query_set text, OUT tau float8)
RETURNS record LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_threshold';
COMMENT ON FUNCTION @extschema@.nw_threshold(text, text, float8, boolean) IS
	'the min_confidence that answers most at no more than an error rate';

CREATE FUNCTION @extschema@.nw_temperature_sweep(support text, queries text,
	low float8 DEFAULT 0.5, high float8 DEFAULT 3.0, steps int DEFAULT 100,
	leave_one_out boolean DEFAULT NULL,
	OUT tau float8, OUT nll float8, OUT ece float8, OUT error_rate float8,
	OUT n bigint, OUT unseen bigint,
	OUT support_set text, OUT query_set text)
RETURNS SETOF record LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_temperature_sweep';
COMMENT ON FUNCTION @extschema@.nw_temperature_sweep(text, text, float8, float8, int, boolean) IS
	'loss, calibration error and error rate at many temperatures';

CREATE FUNCTION @extschema@.nw_calibrate(support text, queries text DEFAULT NULL,
	low float8 DEFAULT NULL, high float8 DEFAULT NULL, steps int DEFAULT 100,
	leave_one_out boolean DEFAULT NULL, fit text DEFAULT 'both',
	OUT support_set text, OUT query_set text, OUT tau float8,
	OUT tau_before float8, OUT temper float8, OUT temper_before float8,
	OUT n bigint, OUT error_before float8, OUT error_after float8,
	OUT nll_before float8, OUT nll_after float8,
	OUT ece_before float8, OUT ece_after float8)
RETURNS record LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'nw_calibrate';
COMMENT ON FUNCTION @extschema@.nw_calibrate(text, text, float8, float8, int, boolean, text) IS
	'give a set the temperatures of the least loss, at no cost in errors';

CREATE FUNCTION @extschema@.nw_conformal(support text, queries text DEFAULT NULL,
	method text DEFAULT 'threshold', by_class boolean DEFAULT false,
	leave_one_out boolean DEFAULT NULL,
	OUT support_set text, OUT query_set text, OUT tau float8,
	OUT scored_by text, OUT scored_by_class boolean, OUT n bigint,
	OUT unlabelled bigint, OUT unseen bigint, OUT classes bigint,
	OUT guarantee text)
RETURNS record LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'nw_conformal';
COMMENT ON FUNCTION @extschema@.nw_conformal(text, text, text, boolean, boolean) IS
	'score labelled queries, for nw_plausible and nw_regress_interval';

CREATE FUNCTION @extschema@.nw_conformal_evaluate(support text, queries text,
	coverage float8 DEFAULT 0.9, leave_one_out boolean DEFAULT NULL,
	OUT support_set text, OUT query_set text, OUT tau float8,
	OUT scored_by text, OUT n bigint, OUT unlabelled bigint, OUT unseen bigint,
	OUT covered bigint, OUT covered_share float8, OUT mean_size float8,
	OUT empty bigint, OUT all_classes bigint, OUT low float8, OUT high float8)
RETURNS record LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_conformal_evaluate';
COMMENT ON FUNCTION @extschema@.nw_conformal_evaluate(text, text, float8, boolean) IS
	'how many labels of a set are among the plausible ones, and how many these are';

CREATE FUNCTION @extschema@.nw_learn_typicality(support text,
	queries text DEFAULT NULL, k int DEFAULT 5, leave_one_out boolean DEFAULT NULL,
	OUT support_set text, OUT query_set text, OUT k int, OUT n bigint,
	OUT median_distance float8, OUT largest_distance float8,
	OUT least_typicality float8)
RETURNS record LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'nw_learn_typicality';
COMMENT ON FUNCTION @extschema@.nw_learn_typicality(text, text, int, boolean) IS
	'let a set tell how typical a query is';

CREATE FUNCTION @extschema@.nw_drift(support text, queries text,
	leave_one_out boolean DEFAULT NULL,
	OUT support_set text, OUT query_set text, OUT k int, OUT n bigint,
	OUT mean_typicality float8, OUT below_1_percent float8,
	OUT below_5_percent float8, OUT ks float8, OUT p_value float8, OUT verdict text)
RETURNS record LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_drift';
COMMENT ON FUNCTION @extschema@.nw_drift(text, text, boolean) IS
	'whether queries are as typical of a set as its own rows';

CREATE FUNCTION @extschema@.nw_distill(support text, name text,
	mode text DEFAULT 'cluster', k int DEFAULT 1, seed bigint DEFAULT 0,
	weights text DEFAULT 'equal', calibrate boolean DEFAULT true)
RETURNS bigint LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'nw_distill';
COMMENT ON FUNCTION @extschema@.nw_distill(text, text, text, int, bigint, text, boolean) IS
	'summarise a set by a few prototypes for each class';

CREATE FUNCTION @extschema@.nw_suspects(support text, top int DEFAULT 100,
	OUT support_id text, OUT label text, OUT suggested_label text,
	OUT probability float8, OUT log_margin float8, OUT margin float8,
	OUT support_set text, OUT tau float8, OUT rank int)
RETURNS SETOF record LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
SUPPORT @extschema@.nw_top_rows
AS 'MODULE_PATHNAME', 'nw_suspects';
COMMENT ON FUNCTION @extschema@.nw_suspects(text, int) IS
	'rows whose label is probably wrong, most suspect first';

CREATE FUNCTION @extschema@.nw_shapley(support text, queries text DEFAULT NULL,
	k int DEFAULT 5, top int DEFAULT 100, leave_one_out boolean DEFAULT NULL,
	OUT support_id text, OUT label text, OUT value float8,
	OUT support_set text, OUT query_set text, OUT n bigint,
	OUT rank int)
RETURNS SETOF record LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
SUPPORT @extschema@.nw_top_rows
AS 'MODULE_PATHNAME', 'nw_shapley';
COMMENT ON FUNCTION @extschema@.nw_shapley(text, text, int, int, boolean) IS
	'what each support is worth to a vote of the nearest neighbours, least first';

CREATE FUNCTION @extschema@.nw_diagnose(support text, queries text,
	top int DEFAULT 5, leave_one_out boolean DEFAULT NULL)
RETURNS bigint LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'nw_diagnose';
COMMENT ON FUNCTION @extschema@.nw_diagnose(text, text, int, boolean) IS
	'find the supports that helped, harmed and are suspect, for the views that show them';

CREATE FUNCTION @extschema@.nw_todo(OUT set text, OUT what text, OUT why text,
	OUT sql text)
RETURNS SETOF record LANGUAGE c VOLATILE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'nw_todo';
COMMENT ON FUNCTION @extschema@.nw_todo() IS
	'what the caller''s sets want done anew, and by which statement';

--
-- Aggregates
--

CREATE FUNCTION @extschema@.nw_vote_accum(internal, anycompatible, float8)
RETURNS internal LANGUAGE c STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'nw_vote_accum';
COMMENT ON FUNCTION @extschema@.nw_vote_accum(internal, anycompatible, float8) IS
	'support for nw_vote and nw_argmax';

CREATE FUNCTION @extschema@.nw_vote_accum(internal, anycompatible, float8, float8)
RETURNS internal LANGUAGE c STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'nw_vote_accum';
COMMENT ON FUNCTION @extschema@.nw_vote_accum(internal, anycompatible, float8, float8) IS
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

CREATE FUNCTION @extschema@.nw_argmax_final(internal, anycompatible, float8)
RETURNS anycompatible LANGUAGE c STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'nw_argmax_final';
COMMENT ON FUNCTION @extschema@.nw_argmax_final(internal, anycompatible, float8) IS
	'support for nw_vote and nw_argmax';

CREATE FUNCTION @extschema@.nw_argmax_final(internal, anycompatible, float8, float8)
RETURNS anycompatible LANGUAGE c STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'nw_argmax_final';
COMMENT ON FUNCTION @extschema@.nw_argmax_final(internal, anycompatible, float8, float8) IS
	'support for nw_vote and nw_argmax';

CREATE AGGREGATE @extschema@.nw_vote(label anycompatible, distance float8) (
	SFUNC = @extschema@.nw_vote_accum,
	STYPE = internal,
	FINALFUNC = @extschema@.nw_vote_final,
	COMBINEFUNC = @extschema@.nw_vote_combine,
	SERIALFUNC = @extschema@.nw_vote_serialize,
	DESERIALFUNC = @extschema@.nw_vote_deserialize,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE @extschema@.nw_vote(anycompatible, float8) IS
	'the probability of every label under a vote weighted by distance';

CREATE AGGREGATE @extschema@.nw_vote(label anycompatible, distance float8, tau float8) (
	SFUNC = @extschema@.nw_vote_accum,
	STYPE = internal,
	FINALFUNC = @extschema@.nw_vote_final,
	COMBINEFUNC = @extschema@.nw_vote_combine,
	SERIALFUNC = @extschema@.nw_vote_serialize,
	DESERIALFUNC = @extschema@.nw_vote_deserialize,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE @extschema@.nw_vote(anycompatible, float8, float8) IS
	'the probability of every label under a vote weighted by distance';

CREATE AGGREGATE @extschema@.nw_argmax(label anycompatible, distance float8) (
	SFUNC = @extschema@.nw_vote_accum,
	STYPE = internal,
	FINALFUNC = @extschema@.nw_argmax_final,
	FINALFUNC_EXTRA,
	COMBINEFUNC = @extschema@.nw_vote_combine,
	SERIALFUNC = @extschema@.nw_vote_serialize,
	DESERIALFUNC = @extschema@.nw_vote_deserialize,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE @extschema@.nw_argmax(anycompatible, float8) IS
	'the most probable label under a vote weighted by distance';

CREATE AGGREGATE @extschema@.nw_argmax(label anycompatible, distance float8, tau float8) (
	SFUNC = @extschema@.nw_vote_accum,
	STYPE = internal,
	FINALFUNC = @extschema@.nw_argmax_final,
	FINALFUNC_EXTRA,
	COMBINEFUNC = @extschema@.nw_vote_combine,
	SERIALFUNC = @extschema@.nw_vote_serialize,
	DESERIALFUNC = @extschema@.nw_vote_deserialize,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE @extschema@.nw_argmax(anycompatible, float8, float8) IS
	'the most probable label under a vote weighted by distance';

CREATE FUNCTION @extschema@.nw_ece_accum(internal, float8, boolean)
RETURNS internal LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'nw_ece_accum';
COMMENT ON FUNCTION @extschema@.nw_ece_accum(internal, float8, boolean) IS
	'support for nw_ece and nw_mce';

CREATE FUNCTION @extschema@.nw_ece_accum(internal, float8, boolean, int)
RETURNS internal LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'nw_ece_accum';
COMMENT ON FUNCTION @extschema@.nw_ece_accum(internal, float8, boolean, int) IS
	'support for nw_ece and nw_mce';

CREATE FUNCTION @extschema@.nw_ece_combine(internal, internal)
RETURNS internal LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'nw_ece_combine';
COMMENT ON FUNCTION @extschema@.nw_ece_combine(internal, internal) IS
	'support for nw_ece and nw_mce';

CREATE FUNCTION @extschema@.nw_ece_serialize(internal)
RETURNS bytea LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'nw_ece_serialize';
COMMENT ON FUNCTION @extschema@.nw_ece_serialize(internal) IS
	'support for nw_ece and nw_mce';

CREATE FUNCTION @extschema@.nw_ece_deserialize(bytea, internal)
RETURNS internal LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'nw_ece_deserialize';
COMMENT ON FUNCTION @extschema@.nw_ece_deserialize(bytea, internal) IS
	'support for nw_ece and nw_mce';

CREATE FUNCTION @extschema@.nw_ece_final(internal)
RETURNS float8 LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'nw_ece_final';
COMMENT ON FUNCTION @extschema@.nw_ece_final(internal) IS
	'support for nw_ece and nw_mce';

CREATE FUNCTION @extschema@.nw_mce_final(internal)
RETURNS float8 LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'nw_mce_final';
COMMENT ON FUNCTION @extschema@.nw_mce_final(internal) IS
	'support for nw_ece and nw_mce';

CREATE AGGREGATE @extschema@.nw_ece(confidence float8, correct boolean) (
	SFUNC = @extschema@.nw_ece_accum,
	STYPE = internal,
	FINALFUNC = @extschema@.nw_ece_final,
	COMBINEFUNC = @extschema@.nw_ece_combine,
	SERIALFUNC = @extschema@.nw_ece_serialize,
	DESERIALFUNC = @extschema@.nw_ece_deserialize,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE @extschema@.nw_ece(float8, boolean) IS
	'expected calibration error of confidences';

CREATE AGGREGATE @extschema@.nw_ece(confidence float8, correct boolean, bins int) (
	SFUNC = @extschema@.nw_ece_accum,
	STYPE = internal,
	FINALFUNC = @extschema@.nw_ece_final,
	COMBINEFUNC = @extschema@.nw_ece_combine,
	SERIALFUNC = @extschema@.nw_ece_serialize,
	DESERIALFUNC = @extschema@.nw_ece_deserialize,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE @extschema@.nw_ece(float8, boolean, int) IS
	'expected calibration error of confidences';

CREATE AGGREGATE @extschema@.nw_mce(confidence float8, correct boolean) (
	SFUNC = @extschema@.nw_ece_accum,
	STYPE = internal,
	FINALFUNC = @extschema@.nw_mce_final,
	COMBINEFUNC = @extschema@.nw_ece_combine,
	SERIALFUNC = @extschema@.nw_ece_serialize,
	DESERIALFUNC = @extschema@.nw_ece_deserialize,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE @extschema@.nw_mce(float8, boolean) IS
	'maximum calibration error of confidences';

CREATE AGGREGATE @extschema@.nw_mce(confidence float8, correct boolean, bins int) (
	SFUNC = @extschema@.nw_ece_accum,
	STYPE = internal,
	FINALFUNC = @extschema@.nw_mce_final,
	COMBINEFUNC = @extschema@.nw_ece_combine,
	SERIALFUNC = @extschema@.nw_ece_serialize,
	DESERIALFUNC = @extschema@.nw_ece_deserialize,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE @extschema@.nw_mce(float8, boolean, int) IS
	'maximum calibration error of confidences';

CREATE TYPE @extschema@.nw_scores AS (
	n bigint,
	unlabelled bigint,
	unanswered bigint,
	unseen bigint,
	error_rate float8,
	nll float8,
	brier float8,
	ece float8,
	mce float8,
	macro_recall float8
);
COMMENT ON TYPE @extschema@.nw_scores IS
	'what nw_score returns';

CREATE FUNCTION @extschema@.nw_score_accum(internal, "any", "any", float8, float8, float8)
RETURNS internal LANGUAGE c STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'nw_score_accum';
COMMENT ON FUNCTION @extschema@.nw_score_accum(internal, "any", "any", float8, float8, float8) IS
	'support for nw_score';

CREATE FUNCTION @extschema@.nw_score_accum(internal, "any", "any", float8, float8, float8, int)
RETURNS internal LANGUAGE c STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'nw_score_accum';
COMMENT ON FUNCTION @extschema@.nw_score_accum(internal, "any", "any", float8, float8, float8, int) IS
	'support for nw_score';

CREATE FUNCTION @extschema@.nw_score_combine(internal, internal)
RETURNS internal LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'nw_score_combine';
COMMENT ON FUNCTION @extschema@.nw_score_combine(internal, internal) IS
	'support for nw_score';

CREATE FUNCTION @extschema@.nw_score_serialize(internal)
RETURNS bytea LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'nw_score_serialize';
COMMENT ON FUNCTION @extschema@.nw_score_serialize(internal) IS
	'support for nw_score';

CREATE FUNCTION @extschema@.nw_score_deserialize(bytea, internal)
RETURNS internal LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'nw_score_deserialize';
COMMENT ON FUNCTION @extschema@.nw_score_deserialize(bytea, internal) IS
	'support for nw_score';

CREATE FUNCTION @extschema@.nw_score_final(internal)
RETURNS @extschema@.nw_scores LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'nw_score_final';
COMMENT ON FUNCTION @extschema@.nw_score_final(internal) IS
	'support for nw_score';

CREATE AGGREGATE @extschema@.nw_score(truth "any", label "any", confidence float8,
	loss float8, brier float8) (
	SFUNC = @extschema@.nw_score_accum,
	STYPE = internal,
	FINALFUNC = @extschema@.nw_score_final,
	COMBINEFUNC = @extschema@.nw_score_combine,
	SERIALFUNC = @extschema@.nw_score_serialize,
	DESERIALFUNC = @extschema@.nw_score_deserialize,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE @extschema@.nw_score("any", "any", float8, float8, float8) IS
	'how good predictions are';

CREATE AGGREGATE @extschema@.nw_score(truth "any", label "any", confidence float8,
	loss float8, brier float8, bins int) (
	SFUNC = @extschema@.nw_score_accum,
	STYPE = internal,
	FINALFUNC = @extschema@.nw_score_final,
	COMBINEFUNC = @extschema@.nw_score_combine,
	SERIALFUNC = @extschema@.nw_score_serialize,
	DESERIALFUNC = @extschema@.nw_score_deserialize,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE @extschema@.nw_score("any", "any", float8, float8, float8, int) IS
	'how good predictions are';

--
-- The index
--

CREATE FUNCTION @extschema@.nw_handler(internal)
RETURNS index_am_handler LANGUAGE c
AS 'MODULE_PATHNAME', 'nw_handler';
COMMENT ON FUNCTION @extschema@.nw_handler(internal) IS
	'handler of the access method nw';

CREATE ACCESS METHOD nw TYPE INDEX HANDLER @extschema@.nw_handler;
COMMENT ON ACCESS METHOD nw IS
	'index of labelled embeddings, for predictions';

CREATE OPERATOR CLASS @extschema@.vector_nw_ops
DEFAULT FOR TYPE vector USING nw AS STORAGE vector;

CREATE OPERATOR CLASS @extschema@.halfvec_nw_ops
DEFAULT FOR TYPE halfvec USING nw AS STORAGE halfvec;

CREATE FUNCTION @extschema@.nw_index_work(query anycompatible, support text,
	classes text[] DEFAULT NULL,
	OUT label text, OUT engine text, OUT settled_by text, OUT lists bigint,
	OUT lists_pruned bigint, OUT supports bigint, OUT by_list bigint,
	OUT by_code bigint, OUT exact bigint, OUT pages bigint,
	OUT heap_checks bigint, OUT reason text)
RETURNS record LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
AS 'MODULE_PATHNAME', 'nw_index_work';
COMMENT ON FUNCTION @extschema@.nw_index_work(anycompatible, text, text[]) IS
	'what nw_predict reads of an nw index to answer a query';

CREATE FUNCTION @extschema@.nw_index_lists(index regclass,
	OUT list int, OUT label text, OUT rows bigint, OUT slots bigint,
	OUT pages bigint, OUT radius float8)
RETURNS SETOF record LANGUAGE c VOLATILE STRICT PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'nw_index_lists';
COMMENT ON FUNCTION @extschema@.nw_index_lists(regclass) IS
	'the lists of an nw index, their radii and how full they are';

CREATE FUNCTION @extschema@.nw_index_health(index regclass,
	OUT classes bigint, OUT lists bigint, OUT rows bigint,
	OUT built_rows bigint, OUT unlisted_rows bigint, OUT late_rows bigint,
	OUT fill float8, OUT size bigint, OUT reindex text)
RETURNS record LANGUAGE c VOLATILE STRICT PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'nw_index_health';
COMMENT ON FUNCTION @extschema@.nw_index_health(regclass) IS
	'the state of an nw index, and whether REINDEX would help';

CREATE FUNCTION @extschema@.nw_check_index(index regclass,
	heap boolean DEFAULT true)
RETURNS bigint LANGUAGE c VOLATILE STRICT PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'nw_check_index';
COMMENT ON FUNCTION @extschema@.nw_check_index(regclass, boolean) IS
	'verify an nw index, and (heap) that it has the rows of its table; returns the rows checked';
