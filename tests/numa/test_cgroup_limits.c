/* Goal:   the smallest limit of the whole cgroup path counts, wherever on the path it stands.
 * Method: a fixture tree of three levels with limits at different levels, then odd files. */
#include "cgroup_limits.h"
#include "scratch_file.h"

static struct scratch scratch;
static struct cgroup_limits limits;

static void setup(void)
{
    scratch_make(&scratch);
}
static void teardown(void)
{
    scratch_remove(&scratch);
}
TestSuite(cgroup, .init = setup, .fini = teardown);

static void read_limits(const char *own)
{
    char self[512], mount[512];
    snprintf(self, sizeof self, "%s", scratch_write(&scratch, "self", own));
    snprintf(mount, sizeof mount, "%s/mount", scratch.directory);
    cgroup_limits_read(self, mount, &limits);
}

Test(cgroup, minima_over_the_path)
{
    scratch_write(&scratch, "mount/cpuset.cpus.effective", "0-7\n");
    scratch_write(&scratch, "mount/a/memory.max", "3000\n");
    scratch_write(&scratch, "mount/a/memory.high", "max\n");
    scratch_write(&scratch, "mount/a/cpu.max", "150000 100000\n");
    scratch_write(&scratch, "mount/a/cpuset.cpus.effective", "1-5,7\n");
    scratch_write(&scratch, "mount/a/b/memory.max", "4000\n");
    scratch_write(&scratch, "mount/a/b/memory.high", "3500\n");
    scratch_write(&scratch, "mount/a/b/cpu.max", "max 100000\n");
    scratch_write(&scratch, "mount/a/b/c/memory.max", "max\n");
    scratch_write(&scratch, "mount/a/b/c/cpu.max", "400000 100000\n");
    scratch_write(&scratch, "mount/a/b/c/cpuset.cpus.effective", "0,2-3,7,9\n");
    scratch_write(&scratch, "mount/a/b/c/cpuset.mems.effective", "1\n");
    read_limits("5:memory:/other\n0::/a/b/c\n");
    cr_assert_eq(limits.level_count, 4);
    cr_assert_eq(limits.memory_bytes, 3000);
    cr_assert_float_eq(limits.cpu_quota, 1.5, 1e-9);
    cr_assert(limits.has_cpus);
    for (int cpu = 0; cpu < 12; cpu++) {
        cr_assert_eq(limits.cpus[cpu], cpu == 2 || cpu == 3 || cpu == 7, "cpu %d", cpu);
    }
    cr_assert(limits.has_nodes);
    cr_assert_not(limits.nodes[0]);
    cr_assert(limits.nodes[1]);
}

Test(cgroup, memory_high_counts)
{
    scratch_write(&scratch, "mount/memory.high", "100\n");
    scratch_write(&scratch, "mount/a/memory.max", "200\n");
    read_limits("0::/a\n");
    cr_assert_eq(limits.memory_bytes, 100);
}

Test(cgroup, root_group_has_one_level)
{
    scratch_write(&scratch, "mount/memory.max", "77\n");
    read_limits("0::/\n");
    cr_assert_eq(limits.level_count, 1);
    cr_assert_eq(limits.memory_bytes, 77);
}

Test(cgroup, nothing_is_no_limit)
{
    read_limits("3:cpu:/v1/only\n");
    cr_assert_eq(limits.level_count, 0);
    cr_assert_eq(limits.memory_bytes, UINT64_MAX);
    cr_assert_eq(limits.cpu_quota, 0);
    cr_assert_not(limits.has_cpus);
    cgroup_limits_read("/nonexistent", "/nonexistent", &limits);
    cr_assert_eq(limits.level_count, 0);
}

Test(cgroup, odd_files_are_no_limit)
{
    scratch_write(&scratch, "mount/memory.max", "12 apples\n");
    scratch_write(&scratch, "mount/cpu.max", "0 0\n");
    scratch_write(&scratch, "mount/cpuset.cpus.effective", "3-1\n");
    read_limits("0::/../elsewhere\n");
    cr_assert_eq(limits.level_count, 1);
    cr_assert_eq(limits.memory_bytes, UINT64_MAX);
    cr_assert_eq(limits.cpu_quota, 0);
    cr_assert_not(limits.has_cpus);
}
