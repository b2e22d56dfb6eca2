-- who may register, change, read and predict
CREATE ROLE regress_nw_owner;
CREATE ROLE regress_nw_member IN ROLE regress_nw_owner;
CREATE ROLE regress_nw_other;
CREATE SCHEMA regress_nw AUTHORIZATION regress_nw_owner;
GRANT USAGE ON SCHEMA regress_nw TO PUBLIC;
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
CREATE TABLE regress_nw.rows (id int, embedding vector(1), label text, secret text);
ALTER TABLE regress_nw.rows OWNER TO regress_nw_owner;
INSERT INTO regress_nw.rows VALUES (1, '[1]', 'a', 'x'), (2, '[2]', 'b', 'y');

CREATE TABLE regress_nw.own (e vector(1), l text);
ALTER TABLE regress_nw.own OWNER TO regress_nw_other;

-- registering needs CREATE on the extension's schema, and SELECT on the embeddings
SET ROLE regress_nw_owner;
SELECT nw_register('p', 'regress_nw.rows');
RESET ROLE;
GRANT CREATE ON SCHEMA public TO regress_nw_owner, regress_nw_other;
SET ROLE regress_nw_other;
SELECT nw_register('p', 'regress_nw.rows');
SET ROLE regress_nw_owner;
SELECT nw_register('p', 'regress_nw.rows');
SELECT name, owner FROM nw_sets;

-- anyone may look, none but members of the owning role may change
SET ROLE regress_nw_other;
SELECT name, owner FROM nw_sets;
SELECT nw_set_tau('p', 2);
SELECT nw_unregister('p');
SELECT nw_register('p', 'regress_nw.own', embedding => 'e', label => 'l', id => NULL, replace => true);
SET ROLE regress_nw_member;
SELECT nw_set_tau('p', 2);
SELECT tau, owner FROM nw_sets;

-- nobody writes to the registry directly
INSERT INTO nw_registry (name) VALUES ('q');
UPDATE nw_registry SET tau = 3;
DELETE FROM nw_registry;
TRUNCATE nw_registry;
UPDATE nw_sets SET tau = 3;
SELECT nextval('nw_version');
SELECT tau FROM nw_sets;

-- predicting needs SELECT on the columns that are read, and no others
SET ROLE regress_nw_other;
SELECT nw_predict('[0]', 'p');
SET ROLE regress_nw_owner;
GRANT SELECT (embedding, label) ON regress_nw.rows TO regress_nw_other;
SET ROLE regress_nw_other;
SELECT nw_predict('[0]', 'p');
SELECT label FROM nw_classify('[0]', 'p');
SELECT nw_predict('[0]', 'p', exclude => '{1}');
SELECT * FROM nw_weights('[0]', 'p');
SET ROLE regress_nw_owner;
GRANT SELECT (id) ON regress_nw.rows TO regress_nw_other;
SET ROLE regress_nw_other;
SELECT nw_predict('[0]', 'p', exclude => '{1}');
SELECT support_id FROM nw_weights('[0]', 'p');

RESET ROLE;
SELECT nw_unregister('p');
DROP SCHEMA regress_nw CASCADE;
REVOKE CREATE ON SCHEMA public FROM regress_nw_owner, regress_nw_other;
DROP ROLE regress_nw_owner, regress_nw_member, regress_nw_other;
