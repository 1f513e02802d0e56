/* Simulates faults of disk and memory in a process, by LD_PRELOAD:
 *
 *   CHIMERA_FAULT_RENAME_S  seconds that the first rename of a checkpoint takes
 *   CHIMERA_FAULT_DELAY     a file with the milliseconds that each fsync and
 *                           rename takes, as long as the file is there
 *   CHIMERA_FAULT_CALLS     a file that gets a line "fsync PATH" or
 *                           "rename OLD NEW" for each of these calls
 *   SIGUSR2                 makes all later allocations of tensors fail
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_bool is_out_of_memory;
static atomic_bool has_delayed;
static int calls = -1;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static void take_memory_away(int number) {
  (void)number;
  is_out_of_memory = 1;
}

__attribute__((constructor)) static void begin(void) {
  signal(SIGUSR2, take_memory_away);
  const char* file = getenv("CHIMERA_FAULT_CALLS");
  if (file != NULL) calls = open(file, O_WRONLY | O_CREAT | O_APPEND, 0600);
}

static void note(const char* what, const char* first, const char* second) {
  char line[3 * PATH_MAX];
  const int size =
      snprintf(line, sizeof line, "%s %s %s\n", what, first, second);
  if (calls >= 0 && write(calls, line, size) != size) abort();
}

static void wait_as_told(void) {
  const char* path = getenv("CHIMERA_FAULT_DELAY");
  FILE* file = path != NULL ? fopen(path, "r") : NULL;
  int milliseconds = 0;
  if (file == NULL) return;
  if (fscanf(file, "%d", &milliseconds) == 1) usleep(1000 * milliseconds);
  fclose(file);
}

int posix_memalign(void** memory, size_t alignment, size_t size) {
  if (is_out_of_memory) return ENOMEM;
  return REAL(posix_memalign)(memory, alignment, size);
}

int fsync(int descriptor) {
  char link[64];
  char path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t size = readlink(link, path, sizeof path - 1);
  path[size < 0 ? 0 : size] = '\0';
  note("fsync", path, "");
  wait_as_told();
  return REAL(fsync)(descriptor);
}

int rename(const char* from, const char* to) {
  const char* delay = getenv("CHIMERA_FAULT_RENAME_S");
  if (delay != NULL && strstr(to, "/checkpoints/step-") != NULL &&
      !atomic_exchange(&has_delayed, 1)) {
    sleep(atoi(delay));
  }
  note("rename", from, to);
  wait_as_told();
  return REAL(rename)(from, to);
}
