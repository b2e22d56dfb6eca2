/*
 * run/watch.c: embeddings of images as they arrive.
 *
 * One batch at a time: claim rows, read and decode their images, run the model, write, commit.
 * So there is never more than a batch in memory, and whatever ends the program or the connection,
 * the batch is done or untouched.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/finite.h"
#include "base/memory.h"
#include "base/message.h"
#include "base/text.h"
#include "data/fitted.h"
#include "data/image.h"
#include "db/pg.h"
#include "db/watch_queue.h"
#include "ort/device.h"
#include "ort/probe.h"
#include "ort/runtime.h"
#include "run/embedder.h"
#include "run/watch.h"

#define MAX_BACKOFF 60.0 /* seconds from one try to the next */
#define SOON 1.0         /* seconds until rows that others have are looked at again */

typedef struct Run
{
	const NwWatchSettings *o;
	NwEmbedder *embedder;
	NwWatchQueue queue;
	float *images; /* a batch of them */
	int64_t done;
	int64_t bad;
	int64_t taken; /* ids off the queue, for whatever reason */
} Run;

/* what a batch came to */
typedef enum Outcome
{
	SOMETHING, /* was done */
	NOTHING,   /* was there to be had */
	AGAIN      /* it has to be tried */
} Outcome;

/* ---------------------------------------------------------------- signals, and waiting */

static volatile sig_atomic_t stopping;
static int wake[2]; /* a pipe that a signal writes to */

static void
on_signal(int signo)
{
	int saved = errno;

	(void) signo;
	stopping = 1;
	if (write(wake[1], "", 1) < 0)
		stopping = 1;
	errno = saved;
}

static void
catch_signals(void)
{
	struct sigaction act = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

	if (pipe(wake) != 0 || fcntl(wake[1], F_SETFL, O_NONBLOCK) != 0)
		nw_fatal("could not make a pipe: %s", strerror(errno));
	sigemptyset(&act.sa_mask);
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
}

/* Wait for a signal, something to read from a socket (or -1), or some seconds. */
static void
wait_for(int fd, double seconds)
{
	struct pollfd on[] = {{.fd = wake[0], .events = POLLIN}, {.fd = fd, .events = POLLIN}};

	if (!stopping)
		poll(on, 2, (int) (seconds * 1000));
}

/* Take what the server says meanwhile; true where it has called. */
static bool
was_called(const Run *run)
{
	PGnotify *n;
	bool called = false;

	PQconsumeInput(run->queue.conn);
	while ((n = PQnotifies(run->queue.conn)) != NULL)
	{
		called |= strcmp(n->extra, run->queue.source) == 0;
		PQfreemem(n);
	}
	return called;
}

/* Wait until there may be work. */
static void
wait_for_work(const Run *run, double seconds)
{
	if (!was_called(run))
		wait_for(PQsocket(run->queue.conn), seconds);
}

/* ---------------------------------------------------------------- a batch */

/* Tell whether a path stays below the folder that it is taken from. */
static bool
stays_below(const char *path)
{
	if (path[0] == '/')
		return false;
	for (const char *p = path; *p; p += strcspn(p, "/"), p += strspn(p, "/"))
		if (strncmp(p, "..", 2) == 0 && (p[2] == '/' || p[2] == 0))
			return false;
	return true;
}

/* Make the tensor of a row's image; why not (to be freed), else NULL.  Where the folder itself is
 * away, that is no fault of the image, and the run ends: the rows wait. */
static char *
load(const Run *run, const PGresult *r, int row, float *out)
{
	const NwPreprocess *pre = &run->embedder->pre;
	const char *value = PQgetvalue(r, row, 2);
	const char *problem;
	char *shown;
	char *path;
	char *why;
	NwBuf b;

	if (run->o->folder == NULL)
		return nw_encoded_tensor(value, (size_t) PQgetlength(r, row, 2), pre, out);
	shown = nw_short_text(value);
	path = nw_printf("%s/%s", run->o->folder, value);
	if (!stays_below(value))
		why = nw_printf("path \"%s\" leads out of the folder", shown);
	else if (!nw_try_read_regular_file(path, &b, &problem))
	{
		why = nw_printf("file \"%s/%s\": %s", run->o->folder, shown, problem);
		nw_check_folder(run->o->folder);
	}
	else
	{
		why = nw_encoded_tensor(b.data, b.len, pre, out);
		nw_buf_free(&b);
	}
	free(path);
	free(shown);
	return why;
}

/* Say what a row could not be embedded for. */
static void
complain(const NwWatchQueue *q, const char *id, const char *why)
{
	char *shown = nw_short_text(id);

	nw_info("could not embed image \"%s\" of table %s: %s", shown, q->source, why);
	free(shown);
}

/*
 * Write what became of a row: its embedding z, or why there is none (*why, to be freed), or that
 * its image is gone; *taken tells whether its rows could be had.
 */
static bool
write_row(const Run *run, const PGresult *r, int row, const float *z, char **why, bool *taken)
{
	const NwWatchQueue *q = &run->queue;
	const char *id = PQgetvalue(r, row, 1);
	const char *label = PQgetisnull(r, row, 3) ? NULL : PQgetvalue(r, row, 3);
	bool gone = PQgetisnull(r, row, 2);
	char *refused = NULL;

	*taken = true;
	if (!gone && *why == NULL)
	{
		if (!nw_watch_write(q, id, label, z, run->embedder->dim, taken, &refused))
			return false;
		if (refused)
			*why = nw_printf("its embedding is refused: %s", refused);
		free(refused);
		refused = NULL;
	}
	if (*taken && (gone || *why))
	{
		if (!nw_watch_remove(q, id, taken, &refused))
			return false;
		if (refused && *why == NULL)
			*why = nw_printf("it is gone, and its embedding cannot be removed: %s", refused);
		free(refused);
	}
	if (!*taken)
	{
		free(*why);
		*why = NULL;
		return true;
	}
	return gone && *why == NULL ? nw_watch_forget(q, id) : nw_watch_mark(q, id, *why);
}

/* Write what the rows came to, and commit; `why` has what is wrong with an image. */
static bool
write_batch(Run *run, const PGresult *r, char **why, const float *z)
{
	const NwWatchQueue *q = &run->queue;
	NwBuf numbers = {0};
	int64_t done = 0;
	int64_t bad = 0;
	int64_t taken = 0;
	bool ok = true;

	nw_buf_add(&numbers, "{", 1);
	for (int i = 0; ok && i < PQntuples(r); i++)
	{
		bool embedded = !PQgetisnull(r, i, 2) && why[i] == NULL;
		bool had;

		ok = write_row(run, r, i, z, &why[i], &had);
		if (embedded)
			z += run->embedder->dim;
		if (!ok || !had)
			continue;
		done += embedded && why[i] == NULL;
		bad += why[i] != NULL;
		taken++;
		nw_buf_printf(&numbers, "%s%s", numbers.len > 1 ? "," : "", PQgetvalue(r, i, 0));
	}
	nw_buf_add(&numbers, "}", 1);
	ok = ok && nw_watch_commit(q, numbers.data);
	nw_buf_free(&numbers);
	for (int i = 0; ok && i < PQntuples(r); i++)
		if (why[i] != NULL)
			complain(q, PQgetvalue(r, i, 1), why[i]);
	if (ok)
	{
		run->done += done;
		run->bad += bad;
		run->taken += taken;
	}
	return ok;
}

/* Embed the images of claimed rows. */
static bool
embed_batch(Run *run, const PGresult *r)
{
	const NwEmbedder *m = run->embedder;
	size_t size = nw_preprocess_size(&m->pre);
	int n = PQntuples(r);
	char **why = nw_alloc0((size_t) n * sizeof(char *));
	float *z = NULL;
	int loaded = 0;
	int kept = 0;
	bool ok;

	for (int i = 0; i < n; i++)
		if (!PQgetisnull(r, i, 2))
		{
			why[i] = load(run, r, i, run->images + (size_t) loaded * size);
			loaded += why[i] == NULL;
		}
	if (loaded > 0)
		z = nw_embedder_run(m, run->images, loaded);
	loaded = 0;
	for (int i = 0; i < n; i++)
		if (!PQgetisnull(r, i, 2) && why[i] == NULL)
		{
			const float *own = z + (size_t) loaded++ * (size_t) m->dim;

			if (nw_all_finite(own, m->dim))
				memmove(z + (size_t) kept++ * (size_t) m->dim, own,
				        (size_t) m->dim * sizeof(float));
			else
				why[i] = nw_strdup("its embedding is not a number");
		}
	ok = write_batch(run, r, why, z);
	for (int i = 0; i < n; i++)
		free(why[i]);
	free(why);
	free(z);
	return ok;
}

static Outcome
do_batch(Run *run)
{
	int64_t before = run->done + run->bad;
	int64_t taken = run->taken;
	PGresult *r = nw_watch_claim(&run->queue, run->embedder->batch);
	bool ok = r != NULL && embed_batch(run, r);

	PQclear(r);
	if (!ok)
		return AGAIN;
	if (!run->o->quiet && run->done + run->bad > before)
		nw_info("%lld embedded, %lld could not be", (long long) run->done, (long long) run->bad);
	return run->taken > taken ? SOMETHING : NOTHING;
}

/* ---------------------------------------------------------------- the whole */

/* Get ready for batches: called first, and for every new connection. */
static bool
start(const Run *run)
{
	return nw_watch_listen(&run->queue) && nw_watch_fill(&run->queue);
}

/* Go on after a failure that may pass: with a new connection where the old one is lost. */
static void
recover(Run *run, double *backoff)
{
	PGconn *c = run->queue.conn;

	while (!stopping)
	{
		char *text = nw_strdup(PQerrorMessage(c));

		if (PQstatus(c) == CONNECTION_OK)
			PQclear(PQexec(c, "ROLLBACK"));
		nw_trim_end(text, "\n");
		nw_info("trying again in %g s: %s", *backoff, text);
		free(text);
		wait_for(-1, *backoff);
		*backoff = *backoff * 2 < MAX_BACKOFF ? *backoff * 2 : MAX_BACKOFF;
		if (stopping)
			return;
		if (PQstatus(c) != CONNECTION_OK)
			PQreset(c);
		if (PQstatus(c) == CONNECTION_OK && start(run))
			return;
	}
}

/* Do batches until a signal comes, or, where that is asked for, until nothing waits. */
static void
work(Run *run)
{
	double backoff = 1;

	if (!start(run))
		recover(run, &backoff);
	while (!stopping)
	{
		bool waiting = false;

		switch (do_batch(run))
		{
			case SOMETHING:
				backoff = 1;
				break;
			case AGAIN:
				recover(run, &backoff);
				break;
			case NOTHING:
				backoff = 1;
				if (!nw_watch_waiting(&run->queue, &waiting))
					recover(run, &backoff);
				else if (run->o->once && !waiting)
					return;
				else
					wait_for_work(run,
					              waiting && run->o->interval > SOON ? SOON : run->o->interval);
		}
	}
}

/* Carry out "nwhead watch". */
int
nw_watch(NwWatchSettings *o)
{
	Run run = {.o = o};
	PGconn *c = nw_pg_connect(o->dsn);
	NwRuntime *rt;

	if (o->uninstall)
	{
		nw_watch_uninstall(&o->place, c);
		PQfinish(c);
		return 0;
	}
	if (o->folder && !o->install) /* who installs may be on another machine */
		nw_check_folder(o->folder);
	rt = nw_runtime_open(o->model.threads, o->model.profile);
	run.embedder = nw_embedder_open(rt, nw_device_choose(rt, o->model.device), &o->model);
	if (o->install)
		nw_watch_install(&o->place, c, run.embedder->identity, run.embedder->dim, o->mix_models);
	else
	{
		run.queue = nw_watch_open(&o->place, c, run.embedder->identity);
		run.images = nw_alloc0((size_t) run.embedder->batch *
		                       nw_preprocess_size(&run.embedder->pre) * sizeof(float));
		catch_signals();
		work(&run);
		if (!o->quiet)
			nw_info("%lld embedded, %lld could not be", (long long) run.done, (long long) run.bad);
		nw_watch_free(&run.queue);
		free(run.images);
	}
	PQfinish(c);
	nw_embedder_close(run.embedder);
	nw_runtime_close(rt);
	return 0;
}
