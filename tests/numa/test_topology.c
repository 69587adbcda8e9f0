/* Goal:   a fake topology file is read as written, with a message naming file and line when it is
 *         wrong; the real machine always gives at least one node and one CPU.
 * Method: small files written by the test, some wrong in one place; the real machine is compared
 * with this thread's affinity mask. */
#include "numa/topology.h"
#include "scratch_file.h"

#include <errno.h>
#include <sched.h>

static struct scratch scratch;
static struct nu_topology topology;
static char why[256];

static void setup(void)
{
    scratch_make(&scratch);
}
static void teardown(void)
{
    scratch_remove(&scratch);
}
TestSuite(topology, .init = setup, .fini = teardown);

static const char two_nodes[] = "# two sockets, SMT\n"
                                "node 0 memory 1000000\n"
                                "node 3 memory 2000000 # a hole in the numbers\n"
                                "cpu 4 node 3 core 2 l3 1 socket 1\n"
                                "cpu 0 node 0 core 0 l3 0 socket 0\n"
                                "cpu 1 node 0 core 1 l3 0 socket 0\n"
                                "cpu 2 node 0 core 0 l3 0 socket 0\n"
                                "\n"
                                "cpu 3 node 0 core 5 l3 7 socket 0\n"
                                "distance 0 3 21\n";

Test(topology, two_nodes_with_holes_and_smt)
{
    const char *path = scratch_write(&scratch, "two", two_nodes);
    cr_assert_eq(nu_topology_read(&topology, path, why, sizeof why), 0, "%s", why);
    cr_assert_eq(topology.node_count, 2);
    cr_assert_eq(topology.cpu_count, 5);
    cr_assert(topology.fake);
    cr_assert_not(topology.can_bind);
    cr_assert_eq(topology.nodes[0].memory_bytes, 1000000);
    cr_assert_eq(topology.nodes[1].os_node, 3);
    /* Sorted by node, then core; siblings adjacent. */
    const int order[5] = {0, 2, 1, 3, 4};
    for (int i = 0; i < 5; i++) {
        cr_assert_eq(topology.cpus[i].os_cpu, order[i]);
    }
    cr_assert_eq(nu_topology_level(&topology, 0, 1), NU_LEVEL_SMT);
    cr_assert_eq(nu_topology_level(&topology, 0, 2), NU_LEVEL_L3);
    cr_assert_eq(nu_topology_level(&topology, 0, 3), NU_LEVEL_NODE);
    cr_assert_eq(nu_topology_level(&topology, 4, 0), NU_LEVEL_REMOTE);
    cr_assert_eq(topology.distance[0][1], 21);
    cr_assert_eq(topology.distance[1][0], 21, "a distance given one way holds both ways");
    cr_assert_eq(topology.distance[1][1], 10);
    cr_assert_eq(nu_topology_default_workers(&topology), 5);
    cr_assert_not_null(strstr(topology.summary, "fake"), "%s", topology.summary);
}

Test(topology, four_nodes_of_different_distances)
{
    char text[2048] = "";
    for (int node = 0; node < 4; node++) {
        char line[128];
        snprintf(line, sizeof line, "node %d memory 1\ncpu %d node %d core %d l3 %d socket %d\n",
                 node, node, node, node, node, node);
        strcat(text, line);
    }
    strcat(text, "distance 0 1 16\ndistance 0 2 22\ndistance 2 0 23\n");
    const char *path = scratch_write(&scratch, "four", text);
    cr_assert_eq(nu_topology_read(&topology, path, why, sizeof why), 0, "%s", why);
    cr_assert_eq(topology.distance[0][1], 16);
    cr_assert_eq(topology.distance[1][0], 16);
    cr_assert_eq(topology.distance[0][2], 22);
    cr_assert_eq(topology.distance[2][0], 23);
    cr_assert_eq(topology.distance[1][3], 20, "not given");
}

struct wrong {
    const char *text, *message;
};

Test(topology, wrong_files_name_file_and_line)
{
    static const struct wrong wrongs[] = {
        {"node 0 memory 5\ncpu 0 node 1 core 0 l3 0 socket 0\n", ":2: node 1 has no 'node' line"},
        {"node 0 memory x\n", ":1: memory 'x' is not a number"},
        {"node 0\n", ":1: expected 'node N memory BYTES'"},
        {"node 0 memory 1\nnode 0 memory 1\n", ":2: node 0 is declared twice"},
        {"\n\nsocket 1\n", ":3: unknown word 'socket'"},
        {"node 0 memory 1\ncpu 0 node 0 core 0 l3 0 sock 0\n", ":2: expected 'socket'"},
        {"node 0 memory 1\ncpu 99999 node 0 core 0 l3 0 socket 0\n", ":2: cpu 99999 exceeds 65535"},
        {"node 0 memory 1\ndistance 0 0 9\n", ":2: distance 9 is below 10"},
        {"node 0 memory 1\n", "declares no cpu"},
        {"node 0 memory 1\nnode 1 memory 1\ncpu 0 node 0 core 0 l3 0 socket 0\n",
         "node 1 has no cpu"},
        {"node 0 memory 18446744073709551616\n", "is not a number"},
    };
    for (size_t i = 0; i < sizeof wrongs / sizeof wrongs[0]; i++) {
        const char *path = scratch_write(&scratch, "wrong", wrongs[i].text);
        cr_assert_eq(nu_topology_read(&topology, path, why, sizeof why), -EINVAL);
        cr_assert_not_null(strstr(why, wrongs[i].message), "'%s' lacks '%s'", why,
                           wrongs[i].message);
        cr_assert_not_null(strstr(why, path), "%s", why);
    }
    cr_assert_eq(nu_topology_read(&topology, "/nonexistent/topology", why, sizeof why), -ENOENT);
    cr_assert_not_null(strstr(why, "/nonexistent/topology"));
}

Test(topology, real_machine)
{
    cpu_set_t mask;
    cr_assert_eq(sched_getaffinity(0, sizeof mask, &mask), 0);
    cr_assert_eq(nu_topology_read(&topology, NULL, why, sizeof why), 0);
    cr_assert_geq(topology.node_count, 1);
    cr_assert_geq(topology.cpu_count, 1);
    cr_assert_leq(topology.cpu_count, CPU_COUNT(&mask));
    for (uint32_t cpu = 0; cpu < topology.cpu_count; cpu++) {
        cr_assert(CPU_ISSET(topology.cpus[cpu].os_cpu, &mask));
        cr_assert_lt(topology.cpus[cpu].node, topology.node_count);
    }
    cr_assert_gt(topology.memory_limit_bytes, 1 << 20);
    cr_assert_eq(topology.distance[0][0], NU_DISTANCE_LOCAL);
    cr_assert_geq(nu_topology_default_workers(&topology), 1);
    cr_assert_gt(strlen(topology.summary), 0);
}

Test(topology, affinity_cuts_down)
{
    cpu_set_t mask, one;
    cr_assert_eq(sched_getaffinity(0, sizeof mask, &mask), 0);
    int last = 0;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        last = CPU_ISSET(cpu, &mask) ? cpu : last;
    }
    CPU_ZERO(&one);
    CPU_SET(last, &one);
    cr_assert_eq(sched_setaffinity(0, sizeof one, &one), 0);
    cr_assert_eq(nu_topology_read(&topology, NULL, why, sizeof why), 0);
    cr_assert_eq(topology.cpu_count, 1);
    cr_assert_eq(topology.cpus[0].os_cpu, last);
}

Test(topology, quota_bounds_default_workers)
{
    topology = (struct nu_topology){.cpu_count = 8, .node_count = 1, .cpu_quota = 1.5};
    cr_assert_eq(nu_topology_default_workers(&topology), 2);
    topology.cpu_quota = 2;
    cr_assert_eq(nu_topology_default_workers(&topology), 2);
    topology.cpu_quota = 0.1;
    cr_assert_eq(nu_topology_default_workers(&topology), 1);
    topology.cpu_quota = 100;
    cr_assert_eq(nu_topology_default_workers(&topology), 8);
}
