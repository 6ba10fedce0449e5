/* Usual ways to grow trees. */
#include "learn/boost.h"

const boost_options boost_default = { .trees     = 500,
                                      .depth     = 8,
                                      .rate      = 0.1,
                                      .rows      = 0.8,
                                      .features  = 0.8,
                                      .leaf_rows = 2,
                                      .l2        = 1,
                                      .seed      = 1 };

const boost_options forest_default = { .forest    = true,
                                       .trees     = 100,
                                       .depth     = 16,
                                       .rate      = 1,
                                       .rows      = 0.63, /* what a sample with replacement holds */
                                       .features  = 0.5,
                                       .leaf_rows = 1,
                                       .l2        = 0,
                                       .seed      = 1 };
