/* Layer types that arrange elements: shapes, copies and their gradients, by hand. */
#include "cases.h"

#define ON(shape, layer) CASES_HEAD LEARNED("a", shape) "[l]\ntype = " layer

static const work_case views[] = {
    { ON("2x3x4x5", "flatten\n"), "2x60 f32", { { 0 } }, 0, 0 },
    { ON("2x3x4x5", "flatten\nstart = 0\nend = -2\n"), "24x5 f32", { { 0 } }, 0, 0 },
    { ON("2x3x4", "reshape\nshape = 0,-1\n"), "2x12 f32", { { 0 } }, 0, 0 },
    { ON("2x3x4", "reshape\nshape = -1,0,2\n"), "4x3x2 f32", { { 0 } }, 0, 0 },
    { ON("2x3x4", "reshape\nshape = 24\n"), "24 f32", { { 0 } }, 0, 0 },
    { ON("2x1x4x1", "squeeze\naxis = 1\n"), "2x4x1 f32", { { 0 } }, 0, 0 },
    { ON("2x1x4x1", "squeeze\naxis = -1,1\n"), "2x4 f32", { { 0 } }, 0, 0 },
    { ON("2x4", "unsqueeze\naxis = 1\n"), "2x1x4 f32", { { 0 } }, 0, 0 },
    { ON("2x4", "unsqueeze\naxis = 0,-1\n"), "1x2x4x1 f32", { { 0 } }, 0, 0 },
    { ON("2x4", "identity\n"), "2x4 f32", { { 0 } }, 0, 0 },
};

static void views_cost_nothing(void **state)
{
    (void)state;
    check_cases(views);
}

/* 24 elements are 96 bytes, read once and written once, in both directions. */
static const work_case copies[] = {
    { ON("2x3x4", "permute\norder = 0,2,1\n"),
      "2x4x3 f32",
      { { 0, 96, 96 }, { 0, 96, 96 } },
      0,
      0 },
    { ON("2x3x4", "permute\norder = -1,0,1\n"),
      "4x2x3 f32",
      { { 0, 96, 96 }, { 0, 96, 96 } },
      0,
      0 },
    { ON("2x3x4", "roll\nshifts = -1,2\naxes = 1,2\n"),
      "2x3x4 f32",
      { { 0, 96, 96 }, { 0, 96, 96 } },
      0,
      0 },
    { ON("1x12x1x2", "pixel_shuffle\nfactor = 2\n"),
      "1x3x2x4 f32",
      { { 0, 96, 96 }, { 0, 96, 96 } },
      0,
      0 },
    { ON("1x3x2x4", "pixel_unshuffle\nfactor = 2\n"),
      "1x12x1x2 f32",
      { { 0, 96, 96 }, { 0, 96, 96 } },
      0,
      0 },
    { ON("2x6x2", "channel_shuffle\ngroups = 3\n"),
      "2x6x2 f32",
      { { 0, 96, 96 }, { 0, 96, 96 } },
      0,
      0 },
    { CASES_HEAD LEARNED("a", "2x3") LEARNED("b", "2x9") "[l]\ntype = concat\ninputs = a, b\n",
      "2x12 f32",
      { { 0, 96, 96 }, { 0, 96, 96 } },
      0,
      0 },
};

static void copies_move_every_element_once(void **state)
{
    (void)state;
    check_cases(copies);
}

/* A view forward; backward zeros for all 24 elements, and the part's gradient copied in. */
static const work_case parts[] = {
    { ON("2x12", "slice\nstart = 2\nend = 5\n"), "2x3 f32", { { 0 }, { 0, 24, 96 + 24 } }, 0, 0 },
    { ON("2x12", "slice\nstart = -3\n"), "2x3 f32", { { 0 }, { 0, 24, 96 + 24 } }, 0, 0 },
    /* in front of the first is the first */
    { ON("2x12", "slice\nstart = -99\nend = 3\n"), "2x3 f32", { { 0 }, { 0, 24, 96 + 24 } }, 0, 0 },
    { ON("2x12", "slice\nend = -9\n"), "2x3 f32", { { 0 }, { 0, 24, 96 + 24 } }, 0, 0 },
    { ON("2x12", "slice\nstart = 1\nend = 99\nstep = 4\n"),
      "2x3 f32",
      { { 0 }, { 0, 24, 96 + 24 } },
      0,
      0 },
    { ON("2x12", "slice\naxis = 0\nend = 1\n"), "1x12 f32", { { 0 }, { 0, 48, 96 + 48 } }, 0, 0 },
    { ON("2x12", "chunk\nparts = 4\npart = 3\n"), "2x3 f32", { { 0 }, { 0, 24, 96 + 24 } }, 0, 0 },
    /* torch.chunk: 12 in 5 parts are 3, 3, 3, 3 */
    { ON("2x12", "chunk\nparts = 5\n"), "2x3 f32", { { 0 }, { 0, 24, 96 + 24 } }, 0, 0 },
    /* 12 in 7 parts are 2, 2, 2, 2, 2, 2; 11 in 4 parts 3, 3, 3, 2 */
    { ON("2x12", "chunk\nparts = 7\npart = 5\n"), "2x2 f32", { { 0 }, { 0, 16, 96 + 16 } }, 0, 0 },
    { ON("1x11", "chunk\nparts = 4\npart = 3\n"), "1x2 f32", { { 0 }, { 0, 8, 44 + 8 } }, 0, 0 },
    /* forward the value everywhere, then the 24 elements copied in; backward copied out */
    { ON("2x3x4", "pad\nbefore = 1\n"), "2x3x5 f32", { { 0, 96, 120 + 96 }, { 0, 96, 96 } }, 0, 0 },
    { ON("2x3x4", "pad\nbefore = 1,0\nafter = 1,2\n"),
      "2x5x6 f32",
      { { 0, 96, 240 + 96 }, { 0, 96, 96 } },
      0,
      0 },
};

static void a_part_gives_its_gradient_back_among_zeros(void **state)
{
    (void)state;
    check_cases(parts);
}

static const work_case repetitions[] = {
    { ON("2x1x4", "expand\nshape = -1,3,0\n"), "2x3x4 f32", { { 0 }, { 24, 96, 32 } }, 0, 0 },
    { ON("4", "expand\nshape = 2,3,-1\n"), "2x3x4 f32", { { 0 }, { 24, 96, 16 } }, 0, 0 },
    { ON("2x3x4", "expand\nshape = 2,3,4\n"), "2x3x4 f32", { { 0 } }, 0, 0 },
    { ON("2x2", "tile\nrepeats = 2,3\n"), "4x6 f32", { { 0, 16, 96 }, { 24, 96, 16 } }, 0, 0 },
    { ON("2x2", "tile\nrepeats = 3,1,2\n"), "3x2x4 f32", { { 0, 16, 96 }, { 24, 96, 16 } }, 0, 0 },
    { ON("4x6", "tile\nrepeats = 1\n"), "4x6 f32", { { 0, 96, 96 }, { 0 } }, 0, 0 },
};

static void repetitions_are_added_up_backward(void **state)
{
    (void)state;
    check_cases(repetitions);
}

/* Of 2 x 3 x 4 = 24 elements, 96 bytes; a second input's dimension is stretched to. */
#define BYTES(shape) "[b]\ntype = constant\ninputs = none\ndtype = u8\nshape = " shape "\n"

static const work_case stretched[] = {
    { CASES_HEAD LEARNED("a", "1x3x4")
          BYTES("2x1x1") "[l]\ntype = expand\ninputs = a, b\nshape = -2,-1,-1\n",
      "2x3x4 f32",
      { { 0 }, { 24, 96, 48 } },
      0,
      0 },
};

static void a_second_input_says_how_far_to_stretch(void **state)
{
    (void)state;
    check_cases(stretched);
}

/* Reads all inputs and writes the output: 24 elements of 4 bytes and 6 bytes, which are 26 elements
 * of 4; backward the gradient of 10 elements becomes 24. */
static const work_case traffics[] = {
    { CASES_HEAD LEARNED("a", "2x3x4")
          BYTES("2x3") "[l]\ntype = traffic\ninputs = a, b\nshape = 2,5\n",
      "2x5 f32",
      { { 0, 104, 40 }, { 0, 40, 96 } },
      0,
      LM_KEEPS_ONE(1) },
    { CASES_HEAD LEARNED("a", "2x3x4")
          BYTES("2x5") "[l]\ntype = traffic\ninputs = a, b\nshape = 0,0\nlike = 1\nflops = 3\n",
      "2x5 f32",
      { { 30, 108, 40 }, { 30, 40, 96 } },
      0,
      LM_KEEPS_ONE(1) },
    /* whole numbers carry no gradient; random ones take no more than a shape */
    { ON("2x3x4", "traffic\nshape = 0,0,2\ndtype = i64\n"),
      "2x3x2 i64",
      { { 0, 96, 96 }, { 0 } },
      0,
      0 },
    { ON("2x3x4", "traffic\nshape = 0,0,0\nreads = no\n"),
      "2x3x4 f32",
      { { 0, 0, 96 }, { 0 } },
      0,
      0 },
};

static void traffic_is_of_the_inputs_and_the_output(void **state)
{
    (void)state;
    check_cases(traffics);
}

#define INDICES(shape) "[i]\ntype = constant\ninputs = none\ndtype = i64\nshape = " shape "\n"

static const work_case gathers[] = {
    /* 2 x 5 rows of 4 from 2 x 3 rows: 40 elements; backward zeros for 24, and 40 additions */
    { CASES_HEAD LEARNED("a", "2x3x4") INDICES("5") "[l]\ntype = gather\ninputs = a, i\n",
      "2x5x4 f32",
      { { 0, 160, 160 }, { 40, 160, 96 + 160 } },
      0,
      LM_KEEPS_ONE(1) },
    { CASES_HEAD LEARNED("a", "6x4") INDICES("2x5") "[l]\ntype = gather\ninputs = a, i\naxis = 0\n",
      "2x5x4 f32",
      { { 0, 160, 160 }, { 40, 160, 96 + 160 } },
      0,
      LM_KEEPS_ONE(1) },
};

static void gather_copies_rows_and_adds_them_up_backward(void **state)
{
    (void)state;
    check_cases(gathers);
}

/* A cast moves 24 elements as wide as the wider type. */
static const work_case casts[] = {
    { ON("2x3x4", "cast\nto = f32\n"), "2x3x4 f32", { { 0 } }, 0, 0 },
    { ON("2x3x4", "cast\nto = network\n"), "2x3x4 f32", { { 0 } }, 0, 0 },
    { ON("2x3x4", "cast\nto = f16\n"), "2x3x4 f16", { { 0, 96, 96 }, { 0, 96, 96 } }, 0, 0 },
    { ON("2x3x4", "cast\nto = f64\n"), "2x3x4 f64", { { 0, 192, 192 }, { 0, 192, 192 } }, 0, 0 },
    { ON("2x3x4", "cast\nto = i64\n"), "2x3x4 i64", { { 0, 192, 192 }, { 0 } }, 0, 0 },
};

static void casts_copy_unless_the_type_is_the_same(void **state)
{
    (void)state;
    check_cases(casts);
}

/* Outputs of 2 x 3 x 8 x 8 = 384 elements, 1536 bytes. */
static const work_case images[] = {
    { ON("2x3x4x4", "upsample\nfactor = 2\n"),
      "2x3x8x8 f32",
      { { 0, 384, 1536 }, { 384, 1536, 384 } },
      0,
      0 },
    { ON("2x3x4x4", "upsample\nsize = 8\nmode = bilinear\n"),
      "2x3x8x8 f32",
      { { 9 * 384, 384, 1536 }, { 10 * 384, 1536, 384 } },
      0,
      0 },
    { ON("2x3x5x4", "upsample\nsize = 8,8\nmode = bicubic\n"),
      "2x3x8x8 f32",
      { { 35 * 384, 480, 1536 }, { 36 * 384, 1536, 480 } },
      0,
      0 },
    { ON("2x3x16x24", "upsample\nsize = 8\nmode = area\n"),
      "2x3x8x8 f32",
      { { 6 * 384, 9216, 1536 }, { 6 * 384, 1536, 9216 } },
      0,
      0 },
    /* 16 and 10 + 8 - 2 pixels under windows */
    { ON("2x3x16x10", "upsample\nsize = 8\nmode = area\n"),
      "2x3x8x8 f32",
      { { 6 * 16 * 16, 3840, 1536 }, { 6 * 16 * 16, 1536, 3840 } },
      0,
      0 },
    { ON("2x3x8x8", "upsample\nfactor = 1\n"),
      "2x3x8x8 f32",
      { { 0, 1536, 1536 }, { 384, 1536, 1536 } },
      0,
      0 },
    { ON("6x8x43", "upsample\nfactor = 0.1875\nmode = linear\n"),
      "6x8x8 f32",
      { { 3 * 384, 8256, 1536 }, { 4 * 384, 1536, 8256 } },
      0,
      0 },
    { ON("1x6x2x4x4", "upsample\nsize = 4,4,4\nmode = trilinear\n"),
      "1x6x4x4x4 f32",
      { { 21 * 384, 768, 1536 }, { 22 * 384, 1536, 768 } },
      0,
      0 },
};

static void upsampling_matches_hand_counts(void **state)
{
    (void)state;
    check_cases(images);
}

static const refusal_case refusals[] = {
    { ON("2x3x4", "reshape\nshape = 0,5\n"),
      "n.ini:10: layer 'l': 24 elements do not fit a shape of 10", LM_E_SHAPE },
    { ON("2x3x4", "reshape\nshape = -1,5\n"),
      "n.ini:10: layer 'l': 24 elements do not fit a shape of a multiple of 5", LM_E_SHAPE },
    { ON("2x3x4", "reshape\nshape = -1,-1\n"), "n.ini:10: layer 'l': shape: more than one -1",
      LM_E_ARG },
    { ON("2x3", "reshape\nshape = 2,1,0\n"),
      "n.ini:10: layer 'l': shape: no dimension 2 in the input to copy", LM_E_ARG },
    { ON("2x3x4", "flatten\nstart = 2\nend = 1\n"),
      "n.ini:10: layer 'l': start at dimension 2 comes after end at 1", LM_E_ARG },
    { ON("2x3x4", "squeeze\naxis = 1\n"), "n.ini:10: layer 'l': dimension 1 has 3 elements, not 1",
      LM_E_SHAPE },
    { ON("1x1x1x1x1x1x1", "unsqueeze\naxis = 0,1\n"),
      "n.ini:10: layer 'l': an output of 9 dimensions; at most 8 are possible", LM_E_SHAPE },
    { ON("2x3x4", "permute\norder = 0,1\n"),
      "n.ini:10: layer 'l': an order of 2 dimensions for an input of rank 3", LM_E_ARG },
    { ON("2x3x4", "permute\norder = 0,1,1\n"), "n.ini:10: layer 'l': dimension 1 is named twice",
      LM_E_ARG },
    { ON("2x3x4", "roll\nshifts = 1\naxes = 0,1\n"), "n.ini:10: layer 'l': 1 shifts for 2 axes",
      LM_E_ARG },
    { ON("2x3x4", "slice\nstart = 3\n"),
      "n.ini:10: layer 'l': nothing from 3 to 0 in dimension 1 of 3", LM_E_ARG },
    { ON("2x3x4", "slice\nend = -3\n"),
      "n.ini:10: layer 'l': nothing from 0 to -3 in dimension 1 of 3", LM_E_ARG },
    { ON("2x3x4", "slice\nend = -4\n"),
      "n.ini:10: layer 'l': nothing from 0 to -4 in dimension 1 of 3", LM_E_ARG },
    { ON("2x12", "chunk\nparts = 5\npart = 4\n"),
      "n.ini:10: layer 'l': no part 4: 12 elements in parts of 3 are 4", LM_E_ARG },
    { ON("2x12", "pad\nbefore = 1,1,1\n"), "n.ini:10: layer 'l': 3 margins for an input of rank 2",
      LM_E_ARG },
    { ON("2x3", "expand\nshape = 3\n"), "n.ini:10: layer 'l': 1 dimensions for an input of rank 2",
      LM_E_ARG },
    { ON("2x3", "expand\nshape = 4,3\n"),
      "n.ini:10: layer 'l': 2 elements do not stretch to 4 in dimension 0: only a 1 does",
      LM_E_SHAPE },
    { ON("2x3", "expand\nshape = -1,2,3\n"),
      "n.ini:10: layer 'l': dimension 0 is new: nothing to keep", LM_E_ARG },
    { ON("2x3x4x4", "pixel_shuffle\nfactor = 2\n"),
      "n.ini:10: layer 'l': 3 elements of dimension 1 do not divide by 4", LM_E_SHAPE },
    { ON("2x3x5x4", "pixel_unshuffle\nfactor = 2\n"),
      "n.ini:10: layer 'l': 5 elements of dimension 2 do not divide by 2", LM_E_SHAPE },
    { ON("2x3x4", "channel_shuffle\ngroups = 2\n"),
      "n.ini:10: layer 'l': 3 channels do not divide into 2 groups", LM_E_SHAPE },
    { ON("2x3x4", "gather\ninputs = a, a\n"),
      "n.ini:10: layer 'l': the second input holds no numbers of i64 or i32", LM_E_SHAPE },
    { ON("2x3x4x4", "upsample\n"), "n.ini:10: layer 'l': give `factor` or `size`, one of the two",
      LM_E_ARG },
    { ON("2x3x4x4", "upsample\nsize = 8\nfactor = 2\n"),
      "n.ini:10: layer 'l': give `factor` or `size`, one of the two", LM_E_ARG },
    { ON("2x3x4", "upsample\nsize = 8\nmode = bilinear\n"),
      "n.ini:10: layer 'l': input of rank 3, expected 4 for this mode", LM_E_SHAPE },
    { ON("2x3x4x4", "upsample\nsize = 8,8,8\n"),
      "n.ini:10: layer 'l': a size of 3 dimensions for 2", LM_E_ARG },
    { ON("2x3x4x4", "upsample\nfactor = 0.2\n"),
      "n.ini:10: layer 'l': no pixel would be left in dimension 2", LM_E_ARG },
    { CASES_HEAD LEARNED("a", "2x3") LEARNED("b", "3x3") "[l]\ntype = concat\ninputs = a, b\n",
      "n.ini:13: layer 'l': 2 and 3 elements do not fit in dimension 0", LM_E_SHAPE },
};

static void shapes_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    check_refusals(refusals);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(views_cost_nothing),
        cmocka_unit_test(copies_move_every_element_once),
        cmocka_unit_test(a_part_gives_its_gradient_back_among_zeros),
        cmocka_unit_test(repetitions_are_added_up_backward),
        cmocka_unit_test(a_second_input_says_how_far_to_stretch),
        cmocka_unit_test(traffic_is_of_the_inputs_and_the_output),
        cmocka_unit_test(gather_copies_rows_and_adds_them_up_backward),
        cmocka_unit_test(casts_copy_unless_the_type_is_the_same),
        cmocka_unit_test(upsampling_matches_hand_counts),
        cmocka_unit_test(shapes_that_do_not_fit_are_refused),
    };

    return cmocka_run_group_tests(tests, nets_enter, nets_leave);
}
