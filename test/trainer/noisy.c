/*
 * test/trainer/noisy.c: an ONNX Runtime that writes to stderr, to be loaded before the real
 * one, which it stands in front of.
 *
 *   NOISY=start    noise while the runtime starts
 *   NOISY=session  noise while a model is loaded
 *   NOISY=abort    the same, and then the library ends the program
 *   NOISY=fault    the same by a fault
 *
 * And a system on which files do not come into being as they should:
 *
 *   NOISY=signal-N   signal N as soon as the first checkpoint is complete
 *   NOISY=gone       the file GONE is gone then
 *   NOISY=no-model   no room for files whose names end in .onnx
 *   NOISY=no-ckpt    or in .ckpt
 */
#include <dlfcn.h>
#include <errno.h>
#include <onnxruntime_c_api.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const OrtApi *real;
static OrtApi api;
static OrtApiBase base;
static const OrtApi *(*real_get_api)(uint32_t version);

/* Make the noise that belongs to a place. */
static void
noise(const char *place)
{
	const char *mode = getenv("NOISY");

	if (mode == NULL || strchr(mode, '-') != NULL || strcmp(mode, "gone") == 0 ||
	    (strcmp(place, "start") == 0) != (strcmp(mode, "start") == 0))
		return;
	fprintf(stderr, "Schema error: noise of %s\n", place);
	if (strcmp(mode, "abort") == 0)
		abort();
	if (strcmp(mode, "fault") == 0)
		raise(SIGSEGV);
}

static bool
ends_with(const char *text, const char *end)
{
	size_t len = strlen(text);

	return len >= strlen(end) && strcmp(text + len - strlen(end), end) == 0;
}

/* What files are complete with. */
int
rename(const char *from, const char *to)
{
	static bool sent;
	int (*real_rename)(const char *, const char *);
	const char *mode = getenv("NOISY");
	int result;

	if (mode != NULL && ((strcmp(mode, "no-model") == 0 && ends_with(to, ".onnx")) ||
	                     (strcmp(mode, "no-ckpt") == 0 && ends_with(to, ".ckpt"))))
	{
		errno = ENOSPC;
		return -1;
	}
	*(void **) &real_rename = dlsym(RTLD_NEXT, "rename");
	result = real_rename(from, to);
	if (mode != NULL && strncmp(mode, "signal-", 7) == 0 && ends_with(to, ".ckpt") && !sent)
	{
		sent = true; /* a second one would end the program at once */
		raise(atoi(mode + 7));
	}
	if (mode != NULL && strcmp(mode, "gone") == 0 && ends_with(to, ".ckpt"))
		unlink(getenv("GONE"));
	return result;
}

static OrtStatus *ORT_API_CALL
create_env(OrtLoggingFunction log, void *param, OrtLoggingLevel level, const char *id, OrtEnv **out)
{
	noise("start");
	return real->CreateEnvWithCustomLogger(log, param, level, id, out);
}

static OrtStatus *ORT_API_CALL
create_session(const OrtEnv *env, const void *data, size_t len, const OrtSessionOptions *options,
               OrtSession **out)
{
	noise("session");
	return real->CreateSessionFromArray(env, data, len, options, out);
}

static const OrtApi *ORT_API_CALL
get_api(uint32_t version)
{
	real = real_get_api(version);
	api = *real;
	api.CreateEnvWithCustomLogger = create_env;
	api.CreateSessionFromArray = create_session;
	return &api;
}

const OrtApiBase *
OrtGetApiBase(void)
{
	const OrtApiBase *(*get_base)(void);

	*(void **) &get_base = dlsym(RTLD_NEXT, "OrtGetApiBase");
	base = *get_base();
	real_get_api = base.GetApi;
	base.GetApi = get_api;
	return &base;
}
