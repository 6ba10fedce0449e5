/* Sources of each machine's figures. */
#include "base/text.h"
#include "pages/page_parts.h"

TEXT_OF(key_text, provenance_entry, r->key)
TEXT_OF(value_text, provenance_entry, r->value)

static const field entry_fields[] = {
    { "key", .page = "of the measurements", .text = key_text },
    { "value", .page = "", .text = value_text },
    { 0 },
};

static void put_machine(const page *p, const page_machine *m, FILE *out)
{
    const calibration *cal  = m->who->cal;
    field_rows         rows = page_rows(p, entry_fields, 0, NULL);

    fputs("<h3>", out);
    html_text(out, m->label);
    fputs("</h3>\n<p>Machine file <code>", out);
    html_text(out, m->file);
    fputs("</code>: ", out);
    html_textf(
        out, "%s on up to %lld rank%s on %lld host%s, element type %s.",
        cal->transferred ? "scaled by datasheets from machines that were measured" : "measured",
        (long long)cal->max_ranks, cal->max_ranks == 1 ? "" : "s", (long long)cal->max_hosts,
        cal->max_hosts == 1 ? "" : "s", cal->dtype ? text_dtype_name(cal->dtype) : "not known");
    if (!cal->checked)
        html_text(out, " It has no checksum, as files written by hand: damage would not be seen.");
    fputs("</p>\n", out);
    if (m->who->by->from_layers)
        page_learned_provenance(m, out);
    for (size_t i = 0; i < cal->n_provenance; i++)
        field_row(&rows, &cal->provenance[i]);
    if (cal->n_provenance) {
        page_numbers(rows.t, "What it was measured on, with and from", out);
    } else {
        html_paragraph(out, "The file says nothing of where and how it was measured.");
        table_free(rows.t);
    }
}

void page_provenance_write(const page *p, FILE *out)
{
    for (size_t k = 0; k < p->n_machines; k++)
        put_machine(p, &p->machine[k], out);
}
