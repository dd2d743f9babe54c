/* SPDX-License-Identifier: MIT */
/* backtrace.c - see backtrace.h. */
#include "attach/backtrace.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/unwind/ehframe.h"

#define PAGE 4096u
#define MODULE_MAX (1ull << 31)
#define CHUNK (64u << 10)

/* ---- copies of tables ---- */

/* The modules of the process that is looked at. pl_find_module() has no parameter for them. */
static const struct pl_loaded *seen;

/* Copies what can be read of a range. The process may have changed its headers since the module's range was taken from
 * them, or be lying: nothing goes beyond the copy. */
static void copy(const struct pl_tracee *tracee, const struct pl_loaded_module *module, uint8_t *to, uint64_t from,
                 uint64_t end)
{
    from &= ~(uint64_t) (PAGE - 1);
    end = end < module->end ? end : module->end;
    for (uint64_t at = from; from >= module->start && at < end; at += CHUNK) {
        uint64_t bytes = end - at < CHUNK ? end - at : CHUNK;
        pl_tracee_read(tracee, at, to + (at - module->start), bytes);
    }
}

/* The program headers in the copy's first page. */
static Elf64_Phdr *headers(uint8_t *copied, unsigned *count)
{
    const Elf64_Ehdr *elf = (const void *) copied;
    *count = elf->e_phnum;
    return memcmp(elf->e_ident, ELFMAG, SELFMAG) || elf->e_phoff > PAGE ||
                   elf->e_phoff + elf->e_phnum * sizeof(Elf64_Phdr) > PAGE
               ? NULL
               : (void *) (copied + elf->e_phoff);
}

/* The segment that contains the unwind tables. */
static void copy_tables(const struct pl_tracee *tracee, const struct pl_loaded_module *module, uint8_t *to)
{
    unsigned count;
    const Elf64_Phdr *header = headers(to, &count);
    for (unsigned i = 0; header && i < count; i++) {
        uint64_t at = module->bias + header[i].p_vaddr, end = at + header[i].p_filesz;
        if (header[i].p_type == PT_LOAD && module->unwind_header >= at && module->unwind_header < end) {
            copy(tracee, module, to, at, end);
            return;
        }
    }
}

/* The parser goes by the headers, too: in the copy there is no segment that goes beyond it. */
static void bound_segments(const struct pl_loaded_module *module, uint8_t *copied)
{
    unsigned count;
    Elf64_Phdr *header = headers(copied, &count);
    for (unsigned i = 0; header && i < count; i++) {
        uint64_t at = module->bias + header[i].p_vaddr, end = at + header[i].p_filesz;
        if (at < module->start || end < at || end > module->end)
            header[i].p_type = PT_NULL;
    }
}

static void *shadow(const struct pl_tracee *tracee, struct pl_loaded_module *module)
{
    uint64_t bytes = module->end - module->start;
    if (module->shadow || module->end <= module->start || bytes > MODULE_MAX ||
        module->unwind_header - module->start >= bytes)
        return module->shadow;
    uint8_t *at = mmap(NULL, bytes + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        return NULL;
    module->shadow = at;
    copy(tracee, module, at, module->start, module->start + PAGE);
    copy_tables(tracee, module, at);
    bound_segments(module, at);
    return at;
}

void pl_backtrace_free(struct pl_loaded *loaded)
{
    for (size_t i = 0; i < loaded->count; i++)
        if (loaded->module[i].shadow) {
            munmap(loaded->module[i].shadow, loaded->module[i].end - loaded->module[i].start + PAGE);
            loaded->module[i].shadow = NULL;
        }
}

/* Where something of a module lies in its copy, less where it lies in the process. */
static uint64_t offset_of(const struct pl_loaded_module *module)
{
    return (uintptr_t) module->shadow - module->start;
}

/* For the parser, which only sees the copies. */
bool pl_find_module(uintptr_t pc, struct pl_found_module *out)
{
    for (size_t i = 0; seen && i < seen->count; i++) {
        const struct pl_loaded_module *module = &seen->module[i];
        uintptr_t start = (uintptr_t) module->shadow;
        if (!start || pc < start || pc >= start + (module->end - module->start))
            continue;
        *out = (struct pl_found_module){
            .start = start,
            .end = start + (module->end - module->start),
            .bias = module->bias + offset_of(module),
            .eh_frame_hdr = (const void *) (module->unwind_header + offset_of(module)),
        };
        return true;
    }
    return false;
}

/* ---- one step ---- */

static bool read_word(const struct pl_tracee *tracee, uint64_t at, uint64_t *out)
{
    return pl_tracee_read(tracee, at, out, sizeof *out);
}

/* False: a register is described by an expression, or its memory cannot be read. */
static bool step(const struct pl_tracee *tracee, const struct pl_cfi_row *row, uint64_t registers[PL_ARCH_REGISTERS])
{
    uint64_t before[PL_ARCH_REGISTERS], cfa;
    if (row->cfa_is_expression || row->cfa_register >= PL_ARCH_REGISTERS)
        return false;
    memcpy(before, registers, sizeof before);
    cfa = before[row->cfa_register] + (uint64_t) row->cfa_offset;
    for (unsigned i = 0; i < PL_ARCH_REGISTERS; i++) {
        uint64_t value = (uint64_t) row->value[i];
        if (row->how[i] == PL_HOW_AT_OFFSET && !read_word(tracee, cfa + value, &registers[i]))
            return false;
        if (row->how[i] == PL_HOW_OFFSET)
            registers[i] = cfa + value;
        if (row->how[i] == PL_HOW_REGISTER && value < PL_ARCH_REGISTERS)
            registers[i] = before[value];
        if (row->how[i] == PL_HOW_AT_EXPRESSION || row->how[i] == PL_HOW_EXPRESSION)
            return false;
    }
    registers[PL_ARCH_SP] = cfa;
    if (PL_ARCH_RETURN != PL_ARCH_PC) /* it may be signed */
        registers[PL_ARCH_PC] = pl_arch_code(registers[PL_ARCH_RETURN]);
    return true;
}

void pl_backtrace(const struct pl_tracee *tracee, struct pl_loaded *loaded, const struct pl_machine_registers *start,
                  struct pl_backtrace *out)
{
    static struct pl_cfi cfi;
    uint64_t registers[PL_ARCH_REGISTERS];
    pl_machine_dwarf(start, registers);
    seen = loaded;
    out->frames = 0;
    out->complete = false;
    while (out->frames < PL_BACKTRACE_FRAMES) {
        uint64_t pc = registers[PL_ARCH_PC], within = pc - (out->frames > 0); /* a return address may lie behind */
        struct pl_loaded_module *module = pl_loaded_at(loaded, within);
        if (!pc) {
            out->complete = true;
            return;
        }
        if (!module || !shadow(tracee, module))
            return;
        if (pl_ehframe_find(&cfi, within + offset_of(module)) != PL_CFI_FOUND)
            return;
        out->frame[out->frames++] = (struct pl_backtrace_frame){pc, cfi.function - offset_of(module), module};
        if (cfi.signal_frame)
            return;
        if (cfi.row.how[PL_ARCH_RETURN] == PL_HOW_UNDEFINED) {
            out->complete = true;
            return;
        }
        if (!step(tracee, &cfi.row, registers))
            return;
    }
}
