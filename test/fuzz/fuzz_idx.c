/*
 * fuzz_idx.c
 *		Images, labels and class names in files, plain or compressed.
 *
 * The input: the pieces labels and names (none: no file), then the images.
 *
 * options: -max_len=2048 -malloc_limit_mb=64
 */
#include <string.h>

#include "data/dataset.h"
#include "data/open.h"
#include "harness.h"

/* Open the files, and look at every image. */
static void
read_files(void *arg)
{
	NwDataset *d = nw_dataset_open(arg, true);

	nw_dataset_whole(d);
	if (d->n < 1 || d->height < 1 || d->width < 1 || d->n_classes < 1)
		fuzz_broken("a dataset has images of a size");
	for (int64_t i = 0; i < d->n; i++)
	{
		if (d->label[i] < 0 || d->label[i] >= d->n_classes)
			fuzz_broken("an image has a class");
		fuzz_use(nw_dataset_pixels(d, i), (size_t) d->height * (size_t) d->width);
	}
	for (int i = 0; i < d->n_classes; i++)
		fuzz_use(d->classes[i], strlen(d->classes[i]));
	nw_dataset_free(d);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FuzzInput in = {data, size};
	FuzzInput labels = fuzz_piece(&in);
	FuzzInput names = fuzz_piece(&in);
	NwDatasetOptions options = {.idx_images = fuzz_file(0, in),
	                            .idx_labels = fuzz_file(1, labels),
	                            .class_names = names.size > 0 ? fuzz_file(2, names) : NULL,
	                            .per_class = size % 3 == 0 ? 2 : 0};

	fuzz_call(read_files, &options);
	return 0;
}
