/** Machine files as texts. For tests within a folder of their own. */
#ifndef UNIT_MACHINE_TEXT_H
#define UNIT_MACHINE_TEXT_H

#include "folder.h"

#include "machine/machine.h"

/** The least that a machine file holds. */
#define MACHINE_LEAST "[convmeter.grad_one]\nlayers = 1 s/layer\n"

/** Reads a text as m.ini. */
static inline lm_status machine_text_load(const char *text, calibration **out, lm_error *err)
{
    return machine_load(folder_file("m.ini", text), out, err);
}

/** The same of what holds no coefficients. */
static inline calibration *machine_text_of(const char *sections)
{
    char         text[4000];
    calibration *cal = NULL;
    lm_error     err = { LM_OK, "" };

    snprintf(text, sizeof text, "%s" MACHINE_LEAST, sections);
    if (machine_text_load(text, &cal, &err))
        fail_msg("%s", err.text);
    return cal;
}

/** Writes a calibration that has no coefficients, with these, and reads it back. */
static inline calibration *machine_text_again(calibration *cal)
{
    calibration *again = NULL;
    fitted      *least = &cal->fitted[form_find("convmeter", PHASE_GRAD_ONE)];
    lm_error     err   = { LM_OK, "" };

    cal->max_ranks = cal->max_hosts = 1;
    cal->settings                   = term_settings_default;
    *least                          = (fitted){ .present = true };
    least->coefficient[0].value     = 1;
    if (machine_save(cal, "again.ini", &err) || machine_load("again.ini", &again, &err))
        fail_msg("%s", err.text);
    return again;
}

#endif
