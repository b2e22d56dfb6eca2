/*
 * test_index_page.c
 *		Damaged pages of an index: everything that is wrong shows, and nothing
 *		is read that is not there.
 */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "bytes/index_page.h"
#include "check.h"

#define SIZE 8192
#define SLOTS 30

static const NwPageShape shape = {.nblocks = 50, .nlists = 7, .slots = SLOTS};

/* The tail of a page. */
static NwPageTail *
tail_of(char *page)
{
	return (NwPageTail *) (page + SIZE - sizeof(NwPageTail));
}

/* The head of a page of codes. */
static NwCodePage *
codes_of(char *page)
{
	return (NwCodePage *) (page + sizeof(NwPageHead));
}

/* Make a sound page of a kind. */
static void
make_page(char *page, NwPageKind kind)
{
	NwPageHead *head = (NwPageHead *) page;

	memset(page, 0, SIZE);
	head->lower = head->upper = head->special = SIZE - sizeof(NwPageTail);
	head->size_version = SIZE | 4;
	*tail_of(page) = (NwPageTail) {NW_NO_BLOCK, kind, NW_PAGE_MAGIC};
	if (kind == NW_PAGE_CODES)
	{
		NwCodePage *codes = codes_of(page);

		codes->list = 3;
		codes->nth = 2;
		codes->used = SLOTS;
		codes->nfree = 4;
		for (int i = 0; i < NW_VECTOR_PAGES; i++)
			codes->vectors[i] = i < 3 ? (uint32_t) (40 + i) : NW_NO_BLOCK;
		tail_of(page)->next = 12;
		nw_codes_seal(page, SIZE);
	}
}

/* Say whether a page passes. */
static bool
is_sound(const char *page, NwPageKind kind)
{
	return nw_page_damage(page, SIZE, kind, &shape) == NULL;
}

/* A page is of its own kind alone, and so are its ends. */
static void
test_frames(char *page)
{
	for (int kind = NW_PAGE_META; kind <= NW_PAGE_TREE; kind++)
	{
		make_page(page, kind);
		for (int other = NW_PAGE_META; other <= NW_PAGE_TREE; other++)
			CHECK(is_sound(page, other) == (other == kind), "%d as %d", kind, other);

		/* every bit of the header from its lower end on, but for the oldest
		 * transaction */
		for (int bit = 12 * 8; bit < 20 * 8; bit++)
		{
			page[bit / 8] ^= 1 << bit % 8;
			CHECK(!is_sound(page, kind), "kind %d, bit %d", kind, bit);
			page[bit / 8] ^= 1 << bit % 8;
		}
		for (int bit = 4 * 8; bit < 8 * 8; bit++)
		{
			page[SIZE - 8 + bit / 8] ^= 1 << bit % 8;
			CHECK(!is_sound(page, kind), "kind %d, tail bit %d", kind, bit);
			page[SIZE - 8 + bit / 8] ^= 1 << bit % 8;
		}
		tail_of(page)->next = 9;
		CHECK(!is_sound(page, kind), "kind %d, next", kind);
		memset(page, 0, SIZE);
		CHECK(!is_sound(page, kind), "kind %d, empty", kind);
		memset(page, 0xff, SIZE);
		CHECK(!is_sound(page, kind), "kind %d, full", kind);
	}
}

/* A value is found by its checksum, and without it, too. */
static void
test_field(char *page, size_t at, size_t size, uint32_t value, bool possible)
{
	uint16_t narrow = (uint16_t) value;
	char *field = page + at + (at == SIZE - sizeof(NwPageTail) ? 0 : sizeof(NwPageHead));

	make_page(page, NW_PAGE_CODES);
	if (size == sizeof(narrow))
		memcpy(field, &narrow, size);
	else
		memcpy(field, &value, size);
	CHECK(!is_sound(page, NW_PAGE_CODES), "field %zu is %u", at, value);
	nw_codes_seal(page, SIZE);
	CHECK(is_sound(page, NW_PAGE_CODES) == possible, "field %zu is %u, sealed", at, value);
}

/* Counts and pointers of a page of codes. */
static void
test_codes(char *page)
{
	static const uint32_t pointers[] = {0, 50, 51, 0x7fffffff, 0xfffffffe};

	make_page(page, NW_PAGE_CODES);
	for (size_t bit = 0; bit < sizeof(NwCodePage) * 8; bit++)
	{
		page[sizeof(NwPageHead) + bit / 8] ^= 1 << bit % 8;
		CHECK(!is_sound(page, NW_PAGE_CODES), "bit %zu", bit);
		page[sizeof(NwPageHead) + bit / 8] ^= 1 << bit % 8;
	}
	for (int bit = 0; bit < 32; bit++)
	{
		tail_of(page)->next ^= 1u << bit;
		CHECK(!is_sound(page, NW_PAGE_CODES), "bit %d of next", bit);
		tail_of(page)->next ^= 1u << bit;
	}
	for (size_t i = 0; i < sizeof(pointers) / sizeof(pointers[0]); i++)
	{
		for (int k = 0; k < NW_VECTOR_PAGES; k++)
			test_field(page, offsetof(NwCodePage, vectors[k]), 4, pointers[i], false);
		test_field(page, SIZE - sizeof(NwPageTail), 4, pointers[i], false);
	}
	test_field(page, SIZE - sizeof(NwPageTail), 4, 49, true);
	test_field(page, offsetof(NwCodePage, vectors[0]), 4, 49, true);
	test_field(page, offsetof(NwCodePage, vectors[0]), 4, NW_NO_BLOCK, true);
	test_field(page, offsetof(NwCodePage, list), 4, 6, true);
	test_field(page, offsetof(NwCodePage, list), 4, 7, false);
	test_field(page, offsetof(NwCodePage, nth), 4, 50, false);
	test_field(page, offsetof(NwCodePage, used), 2, SLOTS + 1, false);
	test_field(page, offsetof(NwCodePage, used), 2, SLOTS - 1, false);
	test_field(page, offsetof(NwCodePage, nfree), 2, SLOTS, true);
	test_field(page, offsetof(NwCodePage, nfree), 2, SLOTS + 1, false);
}

/* Say whether a list passes, with a new checksum. */
static bool
is_sealed_sound(NwListData list)
{
	nw_list_seal(&list);
	return nw_list_damage(&list, &shape) == NULL;
}

/* Lists. */
static void
test_lists(void)
{
	const NwListData sound = {.class = 1,
	                          .radius = 2,
	                          .spread = 0.5f,
	                          .error = 0.25f,
	                          .norm_min = 1,
	                          .norm_max = 3,
	                          .bound = 70,
	                          .first_page = 5,
	                          .insert_page = 7,
	                          .insert_nth = 2};
	NwListData list = sound;
	static const uint32_t pointers[] = {0, 50, 0x7fffffff, 0xfffffffe, NW_NO_BLOCK};

	CHECK(nw_list_damage(&list, &shape) != NULL, "no checksum");
	nw_list_seal(&list);
	CHECK(nw_list_damage(&list, &shape) == NULL, "sound");
	for (size_t bit = 0; bit < sizeof(list) * 8; bit++)
	{
		((char *) &list)[bit / 8] ^= 1 << bit % 8;
		CHECK(nw_list_damage(&list, &shape) != NULL, "bit %zu", bit);
		((char *) &list)[bit / 8] ^= 1 << bit % 8;
	}
	memset(&list, 0, sizeof(list));
	CHECK(nw_list_damage(&list, &shape) != NULL, "zeroes");

#define WITH(field, value) (list = sound, list.field = (value), is_sealed_sound(list))
	for (size_t i = 0; i < sizeof(pointers) / sizeof(pointers[0]); i++)
	{
		CHECK(!WITH(first_page, pointers[i]), "first page %u", pointers[i]);
		CHECK(!WITH(insert_page, pointers[i]), "insert page %u", pointers[i]);
	}
	CHECK(WITH(insert_nth, 49), "far");
	CHECK(!WITH(insert_nth, 50), "too far");
	CHECK(!WITH(insert_nth, 0), "not the first");
	CHECK(!WITH(insert_page, 5), "not the third");
	CHECK(WITH(bound, 0), "no slots yet");
	CHECK(!WITH(bound, 2000), "too many slots");
	CHECK(!WITH(bound, UINT32_MAX), "too many slots");
	CHECK(!WITH(radius, -1), "negative");
	CHECK(!WITH(radius, NAN), "not a number");
	CHECK(WITH(radius, INFINITY), "anywhere");
	CHECK(!WITH(norm_min, NAN), "not a number");
	CHECK(!WITH(norm_min, 4), "norms cross");
	CHECK(!WITH(norm_max, NAN), "not a number");
	CHECK(!WITH(spread, NAN), "not a number");
	CHECK(WITH(spread, INFINITY), "not known");
	CHECK(!WITH(error, INFINITY), "infinite");
	list = (NwListData) {.first_page = NW_NO_BLOCK, .insert_page = NW_NO_BLOCK};
	CHECK(is_sealed_sound(list), "empty");
	list.bound = 1;
	CHECK(!is_sealed_sound(list), "slots without pages");
}

int
main(void)
{
	char *page = check_alloc(SIZE);

	check_start("index_page");
	test_frames(page);
	test_codes(page);
	test_lists();
	free(page);
	return check_finish();
}
