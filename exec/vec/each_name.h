#ifndef EXEC_VEC_EACH_NAME_H
#define EXEC_VEC_EACH_NAME_H

/* K_FN(add) is add_i32 while K_TAG is i32. */
#define K_JOIN_(a, b) a##_##b
#define K_JOIN(a, b) K_JOIN_(a, b)
#define K_FN(name) K_JOIN(name, K_TAG)

#endif
