/*
 * sql/index_health.c
 *		Show what an nw index holds: nw_index_lists and nw_index_health.
 */
#include "postgres.h"

#include "index/as_owner.h"
#include "index/contents.h"
#include "index/label_lookup.h"
#include "rows.h"

PG_FUNCTION_INFO_V1(nw_index_lists);

/*
 * nw_index_lists(index regclass)
 * returns table (list int, label text, rows bigint, slots bigint, pages bigint,
 *				  radius float8)
 */
Datum
nw_index_lists(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = nw_rows_begin(fcinfo);
	NwOwned owned;
	Relation index;
	NwMeta meta;
	NwLayout layout;
	NwTextOut label_out;
	Datum *label;
	int nclasses;

	nw_index_open_owned(&owned, PG_GETARG_OID(0), AccessShareLock);
	index = owned.index;
	nw_meta_read(index, &meta, &layout);
	nclasses = nw_label_read_all(index, &meta, &label_out, &label);
	for (uint32 list = 0; list < meta.nlists; list++)
	{
		NwListData data;
		NwListContents contents;
		Datum values[6];
		bool nulls[6] = {false};

		nw_list_read(index, &meta, list, &data);
		contents = nw_list_contents(index, &meta, &layout, list, &data);
		nulls[1] = list == NW_COMMON_LIST;
		if (!nulls[1])
			nw_list_check_class(index, list, &data, nclasses);
		values[0] = Int32GetDatum(list);
		values[1] =
			nulls[1] ? (Datum) 0 : nw_bytes_datum(nw_text_out(&label_out, label[data.class]));
		values[2] = Int64GetDatum(contents.rows);
		values[3] = Int64GetDatum(contents.slots);
		values[4] = Int64GetDatum(contents.pages);
		values[5] = Float8GetDatum(data.radius);
		nw_rows_put(result, values, nulls);
	}
	nw_index_close_owned(&owned);
	return (Datum) 0;
}

PG_FUNCTION_INFO_V1(nw_index_health);

/*
 * nw_index_health(index regclass)
 * returns one row: classes bigint, lists bigint, rows bigint, built_rows bigint,
 * unlisted_rows bigint, late_rows bigint, fill float8, size bigint, reindex text
 */
Datum
nw_index_health(PG_FUNCTION_ARGS)
{
	NwOwned owned;
	NwIndexContents all;
	TupleDesc desc = nw_row_type(fcinfo);
	Datum values[9];
	bool nulls[9] = {false};

	nw_index_open_owned(&owned, PG_GETARG_OID(0), AccessShareLock);
	all = nw_index_contents(owned.index);
	values[0] = Int64GetDatum(all.nclasses);
	values[1] = Int64GetDatum(all.nlists);
	values[2] = Int64GetDatum(all.rows);
	values[3] = Int64GetDatum((int64) all.built_rows);
	values[4] = Int64GetDatum(all.unlisted_rows);
	values[5] = Int64GetDatum(all.late_rows);
	values[6] = Float8GetDatum(all.slots == 0 ? 1.0 : (double) all.rows / all.slots);
	values[7] = Int64GetDatum((int64) RelationGetNumberOfBlocks(owned.index) * BLCKSZ);
	values[8] = nw_text_or_null(all.advice, &nulls[8]);
	nw_index_close_owned(&owned);
	PG_RETURN_DATUM(nw_row_datum(desc, values, nulls));
}
