/*
 * bytes/index_page.c
 *		Say what is wrong with a page of an nw index.
 */
#include "bytes/index_page.h"

#include <math.h>
#include <stdbool.h>

/* PostgreSQL's page layout, as it has been since 8.3. */
#define LAYOUT_VERSION 4

_Static_assert(sizeof(NwPageHead) == 24 && sizeof(NwPageTail) == 8 && sizeof(NwListData) == 44 &&
                   sizeof(NwCodePage) == 40,
               "no gaps that a checksum could miss");

/* The tail of a page. */
static inline const NwPageTail *
tail_of(const void *page, size_t size)
{
	return (const NwPageTail *) ((const char *) page + size - sizeof(NwPageTail));
}

/* The head of a page of codes. */
static inline const NwCodePage *
codes_of(const void *page)
{
	return (const NwCodePage *) ((const char *) page + sizeof(NwPageHead));
}

/* Spread a number over 64 bits, differently for each place. */
#define KEY(place) (0x9e3779b97f4a7c15u * (2 * (place) + 1) ^ 0xd6e8feb86659fd92u)

/*
 * A checksum: a sum of products, which a processor computes side by side.  The
 * words are few, so one that is wrong is as good as certain to show.
 */
static inline uint32_t
sum_words(const uint32_t *word, int n, uint32_t more)
{
	uint64_t sum = KEY(100) + more * KEY(101);

	for (int i = 0; i < n; i++)
		sum += word[i] * KEY((uint64_t) i);
	return (uint32_t) (sum >> 32);
}

/* The checksum of a list. */
static inline uint32_t
list_checksum(const NwListData *list)
{
	return sum_words((const uint32_t *) list, offsetof(NwListData, checksum) / sizeof(uint32_t), 0);
}

/* The checksum of a page of codes. */
static inline uint32_t
codes_checksum(const void *page, size_t size)
{
	return sum_words((const uint32_t *) codes_of(page),
	                 offsetof(NwCodePage, checksum) / sizeof(uint32_t), tail_of(page, size)->next);
}

/* Give a list its checksum. */
void
nw_list_seal(NwListData *list)
{
	list->checksum = list_checksum(list);
}

/* Give a page of codes [size bytes] its checksum. */
void
nw_codes_seal(void *page, size_t size)
{
	((NwCodePage *) codes_of(page))->checksum = codes_checksum(page, size);
}

/* Say whether a pointer leads to a page; block 0 is never pointed to. */
static inline bool
is_block(uint32_t block, const NwPageShape *shape)
{
	return block > 0 && block < shape->nblocks;
}

/* Say what is wrong with what all pages have. */
static const char *
frame_damage(const void *page, size_t size, NwPageKind kind)
{
	const NwPageHead *head = page;
	const NwPageTail *tail = tail_of(page, size);

	if (head->upper == 0)
		return "The page is empty.";
	if (head->size_version != (size | LAYOUT_VERSION) || head->special != size - sizeof(NwPageTail))
		return "The page has a damaged header.";
	if (tail->magic != NW_PAGE_MAGIC || tail->kind != (int) kind)
		return "The page is not of the kind expected.";

	/* all of a page is data */
	if (head->lower != head->special || head->upper != head->special)
		return "The page has a damaged header.";
	if (tail->next != NW_NO_BLOCK && kind != NW_PAGE_CODES)
		return "The page has another one behind it.";
	return NULL;
}

/* Say what is wrong with the head of a page of codes. */
static const char *
codes_damage(const void *page, size_t size, const NwPageShape *shape)
{
	const NwCodePage *codes = codes_of(page);
	const NwPageTail *tail = tail_of(page, size);

	if (codes->checksum != codes_checksum(page, size))
		return "The page of codes has a wrong checksum.";
	if (codes->list >= shape->nlists || codes->nth >= shape->nblocks)
		return "The page of codes belongs to no list.";
	if (codes->used > shape->slots || codes->nfree > codes->used)
		return "The page of codes has more slots than there is room for.";
	for (int i = 0; i < NW_VECTOR_PAGES; i++)
	{
		if (codes->vectors[i] != NW_NO_BLOCK && !is_block(codes->vectors[i], shape))
			return "The page of codes names pages of vectors that are not there.";
	}
	if (tail->next == NW_NO_BLOCK)
		return NULL;
	if (!is_block(tail->next, shape))
		return "The page of codes leads to a page that is not there.";
	if (codes->used < shape->slots)
		return "The page of codes has another one behind it, but is not full.";
	return NULL;
}

/*
 * Say what is wrong with a page of a kind: a sentence, or NULL where nothing is.  The
 * page is aligned to 8 bytes.  What a page of codes says is looked at where shape is not
 * NULL; the lists on a page of lists are not.
 */
const char *
nw_page_damage(const void *page, size_t size, NwPageKind kind, const NwPageShape *shape)
{
	const char *damage = frame_damage(page, size, kind);

	if (damage || kind != NW_PAGE_CODES || shape == NULL)
		return damage;
	return codes_damage(page, size, shape);
}

/* Say what is wrong with a list, likewise. */
const char *
nw_list_damage(const NwListData *list, const NwPageShape *shape)
{
	if (list->checksum != list_checksum(list))
		return "A list has a wrong checksum.";

	/* what is not a number is not above 0, either */
	if (!(list->radius >= 0) || !(list->norm_min >= 0) || !(list->norm_max >= list->norm_min))
		return "A list has no proper radius.";
	if (!(list->spread >= 0) || !(list->error >= 0) || isinf(list->error))
		return "A list has no proper spread.";
	if (list->bound > nw_list_bound((uint64_t) shape->nblocks * shape->slots))
		return "A list has more slots than there is room for.";
	if (list->first_page == NW_NO_BLOCK)
		return list->insert_page == NW_NO_BLOCK && list->bound == 0
		           ? NULL
		           : "A list has slots, but no pages.";
	if (!is_block(list->first_page, shape) || !is_block(list->insert_page, shape))
		return "A list names pages that are not there.";
	if (list->insert_nth >= shape->nblocks ||
	    (list->insert_nth == 0) != (list->insert_page == list->first_page))
		return "A list takes rows at the wrong page.";
	return NULL;
}
