/*
 * fuzz_index_page.c
 *		Pages of an nw index, their lists and codes: where nothing is said to be
 *		wrong, every place and pointer that a reader follows is there.
 *
 * The input: the size of the file, its lists, the dimensions and the kind of
 * page; then a list and the page.  Checksums are made right where asked, since
 * whoever writes a page can do that, too.
 *
 * options: -max_len=640
 */
#include <stdlib.h>
#include <string.h>

#include "bytes/index_page.h"
#include "harness.h"

#define PAGE_SIZE 512
#define SLOT_SIZE (4 * 4 + 4 + 6) /* beside the code itself */

/* Things that pages point to, each of its exact number. */
typedef struct File
{
	uint8_t *block;
	uint8_t *list;
	NwPageShape shape;
} File;

/* Follow what a list says. */
static void
read_list(const NwListData *list, const File *file)
{
	if (!(list->radius >= 0 && list->norm_min <= list->norm_max && list->spread >= 0 &&
	      list->error >= 0))
		fuzz_broken("a list has numbers that compare");
	if (list->first_page == NW_NO_BLOCK)
	{
		if (list->bound != 0)
			fuzz_broken("no pages, no slots");
		return;
	}
	fuzz_use(&file->block[list->first_page], 1);
	fuzz_use(&file->block[list->insert_page], 1);
	fuzz_use(&file->block[list->insert_nth], 1);
	if (list->bound > nw_list_bound((uint64_t) file->shape.nblocks * file->shape.slots))
		fuzz_broken("a list has no more slots than fit the file");
}

/* Read every slot in use of a page of codes, and follow its pointers. */
static void
read_codes(const uint8_t *page, const File *file, uint32_t dim)
{
	const NwCodePage *codes = (const NwCodePage *) (page + sizeof(NwPageHead));
	const NwPageTail *tail = (const NwPageTail *) (page + PAGE_SIZE - sizeof(NwPageTail));
	const uint8_t *at = page + sizeof(NwPageHead) + sizeof(NwCodePage);

	fuzz_use(&file->list[codes->list], 1);
	fuzz_use(&file->block[codes->nth], 1);
	fuzz_use(at, (size_t) codes->used * dim);
	fuzz_use(at + (size_t) file->shape.slots * dim, (size_t) codes->used * SLOT_SIZE);
	if (codes->nfree > codes->used)
		fuzz_broken("free slots were in use");
	for (int i = 0; i < NW_VECTOR_PAGES; i++)
		if (codes->vectors[i] != NW_NO_BLOCK)
			fuzz_use(&file->block[codes->vectors[i]], 1);
	if (tail->next != NW_NO_BLOCK)
		fuzz_use(&file->block[tail->next], 1);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FuzzInput in = {data, size};
	uint8_t how = fuzz_byte(&in);
	uint32_t dim = 1 + fuzz_byte(&in);
	File file = {.shape = {.nblocks = 1 + fuzz_short(&in) % 4096, .nlists = fuzz_byte(&in)}};
	NwPageKind kind = (NwPageKind) (1 + (how & 7) % NW_PAGE_VECTORS);
	NwListData list = {0};
	uint8_t *page = calloc(1, PAGE_SIZE);

	file.shape.slots = (PAGE_SIZE - sizeof(NwPageHead) - sizeof(NwCodePage) - sizeof(NwPageTail)) /
	                   (dim + SLOT_SIZE);
	file.block = calloc(file.shape.nblocks, 1);
	file.list = calloc(file.shape.nlists + 1, 1);
	file.list = realloc(file.list, file.shape.nlists ? file.shape.nlists : 1);
	for (size_t i = 0; i < sizeof(list); i++)
		((uint8_t *) &list)[i] = fuzz_byte(&in);
	for (size_t i = 0; i < PAGE_SIZE; i++)
		page[i] = fuzz_byte(&in);
	if (how & 8)
		nw_list_seal(&list);
	if (how & 16)
		nw_codes_seal(page, PAGE_SIZE);
	if (how & 32) /* the frame of a sound page */
	{
		NwPageHead *head = (NwPageHead *) page;
		NwPageTail *tail = (NwPageTail *) (page + PAGE_SIZE - sizeof(NwPageTail));

		head->size_version = PAGE_SIZE | 4;
		head->lower = head->upper = head->special = PAGE_SIZE - sizeof(NwPageTail);
		tail->magic = NW_PAGE_MAGIC;
		tail->kind = (uint16_t) kind;
	}

	if (nw_list_damage(&list, &file.shape) == NULL)
		read_list(&list, &file);
	if (nw_page_damage(page, PAGE_SIZE, kind, &file.shape) == NULL)
	{
		const NwPageHead *head = (const NwPageHead *) page;

		if (head->lower > head->upper || head->upper > head->special || head->special > PAGE_SIZE)
			fuzz_broken("a page has its parts in order");
		fuzz_use(page + head->lower, (size_t) (head->upper - head->lower));
		if (kind == NW_PAGE_CODES && file.shape.nlists > 0)
			read_codes(page, &file, dim);
	}
	(void) nw_page_damage(page, PAGE_SIZE, kind, NULL);
	free(page);
	free(file.block);
	free(file.list);
	return 0;
}
