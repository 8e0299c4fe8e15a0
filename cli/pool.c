/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * pool.c - 32 files under way at once
 *
 * A file's close waits until its data is on stable storage: a round trip or
 * two and the server's disk.  With many small files that is all the time there
 * is, so many of them wait together, and the daemon packs what they wait for.
 *
 * A bounded queue between the one that finds files and threads that copy; a
 * thread more is started only while all that run are busy.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "cli/put.h"

#define THREADS_MAX 32
#define QUEUE_MAX 256

struct job {
	STAILQ_ENTRY(job) link;
	enum pool_what what;
	char *target;
	char src[];
};

struct pool {
	struct put *put;
	pthread_mutex_t lock;
	pthread_cond_t work, room, idle;
	STAILQ_HEAD(, job) queue;
	unsigned queued_nr, busy_nr, threads_nr;
	bool ends;
	pthread_t threads[THREADS_MAX];
};

static void
run_job(struct put *put, struct job *job, char *buffer)
{
	if (job->what == POOL_SYMLINK)
		copy_symlink(put, job->src, job->target);
	else if (buffer == NULL)
		put_failed(put, job->src, NULL, "no memory");
	else
		copy_file(put, job->src, job->target, buffer);
	free(job->target);
	free(job);
}

static struct job *
next_job(struct pool *pool)
{
	struct job *job;

	while ((job = STAILQ_FIRST(&pool->queue)) == NULL && !pool->ends)
		pthread_cond_wait(&pool->work, &pool->lock);
	if (job == NULL)
		return NULL;
	STAILQ_REMOVE_HEAD(&pool->queue, link);
	pool->queued_nr--;
	pool->busy_nr++;
	pthread_cond_signal(&pool->room);
	return job;
}

static void *
worker(void *arg)
{
	struct pool *pool = arg;
	char *buffer = malloc(COPY_BUFFER_BYTES);
	struct job *job;

	pthread_mutex_lock(&pool->lock);
	while ((job = next_job(pool)) != NULL) {
		pthread_mutex_unlock(&pool->lock);
		run_job(pool->put, job, buffer);
		pthread_mutex_lock(&pool->lock);
		pool->busy_nr--;
		if (pool->busy_nr == 0 && pool->queued_nr == 0)
			pthread_cond_broadcast(&pool->idle);
	}
	pthread_mutex_unlock(&pool->lock);
	free(buffer);
	return NULL;
}

struct pool *
pool_new(struct put *put)
{
	struct pool *pool = calloc(1, sizeof(*pool));

	if (pool == NULL)
		return NULL;
	pool->put = put;
	STAILQ_INIT(&pool->queue);
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->work, NULL);
	pthread_cond_init(&pool->room, NULL);
	pthread_cond_init(&pool->idle, NULL);
	return pool;
}

/* Called with the lock held. */
static void
start_thread_if_all_busy(struct pool *pool)
{
	pthread_t *next = &pool->threads[pool->threads_nr];

	if (pool->threads_nr < THREADS_MAX &&
	    pool->busy_nr + pool->queued_nr >= pool->threads_nr &&
	    pthread_create(next, NULL, worker, pool) == 0)
		pool->threads_nr++;
}

/* No thread could be started at all: the caller does the work. */
static void
run_here(struct pool *pool, struct job *job)
{
	char *buffer = malloc(COPY_BUFFER_BYTES);

	run_job(pool->put, job, buffer);
	free(buffer);
}

static void
enqueue(struct pool *pool, struct job *job)
{
	while (pool->queued_nr >= QUEUE_MAX)
		pthread_cond_wait(&pool->room, &pool->lock);
	STAILQ_INSERT_TAIL(&pool->queue, job, link);
	pool->queued_nr++;
	pthread_cond_signal(&pool->work);
}

void
pool_add(struct pool *pool, enum pool_what what, const char *src, char *target)
{
	size_t len = strlen(src) + 1;
	struct job *job = target ? malloc(sizeof(*job) + len) : NULL;
	bool here;

	if (job == NULL) {
		put_failed(pool->put, src, NULL, "no memory");
		free(target);
		return;
	}
	job->what = what;
	job->target = target;
	memcpy(job->src, src, len);

	pthread_mutex_lock(&pool->lock);
	start_thread_if_all_busy(pool);
	here = pool->threads_nr == 0;
	if (!here)
		enqueue(pool, job);
	pthread_mutex_unlock(&pool->lock);
	if (here)
		run_here(pool, job);
}

void
pool_drain(struct pool *pool)
{
	pthread_mutex_lock(&pool->lock);
	while (pool->busy_nr > 0 || pool->queued_nr > 0)
		pthread_cond_wait(&pool->idle, &pool->lock);
	pthread_mutex_unlock(&pool->lock);
}

void
pool_free(struct pool *pool)
{
	pool_drain(pool);
	pthread_mutex_lock(&pool->lock);
	pool->ends = true;
	pthread_cond_broadcast(&pool->work);
	pthread_mutex_unlock(&pool->lock);
	for (unsigned i = 0; i < pool->threads_nr; i++)
		pthread_join(pool->threads[i], NULL);
	pthread_mutex_destroy(&pool->lock);
	pthread_cond_destroy(&pool->work);
	pthread_cond_destroy(&pool->room);
	pthread_cond_destroy(&pool->idle);
	free(pool);
}
