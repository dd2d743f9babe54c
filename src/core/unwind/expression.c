/* SPDX-License-Identifier: MIT */
/*
 * expression.c - a small stack machine for the expressions that occur in unwind tables.
 *
 * It has the operations that libgcc's unwinder has. A failed operation sets `bad` and yields zero, so the loop checks
 * once per operation. Jumps may go backwards: STEPS_MAX ends endless loops.
 */
#include "core/unwind/expression.h"

#include "core/unwind/walk.h"

#define STEPS_MAX 1000

enum {
    OP_ADDRESS = 0x03,
    OP_LOAD = 0x06,
    OP_CONSTANTS = 0x08, /* 1, 2, 4 and 8 bytes, unsigned and signed in turn, up to 0x0f */
    OP_ULEB = 0x10,
    OP_SLEB = 0x11,
    OP_DUPLICATE = 0x12,
    OP_DROP = 0x13,
    OP_OVER = 0x14,
    OP_PICK = 0x15,
    OP_SWAP = 0x16,
    OP_ROTATE = 0x17,
    OP_ABSOLUTE = 0x19,
    OP_AND = 0x1a,
    OP_DIVIDE = 0x1b,
    OP_MINUS = 0x1c,
    OP_MODULO = 0x1d,
    OP_MULTIPLY = 0x1e,
    OP_NEGATE = 0x1f,
    OP_NOT = 0x20,
    OP_OR = 0x21,
    OP_PLUS = 0x22,
    OP_PLUS_ULEB = 0x23,
    OP_SHIFT_LEFT = 0x24,
    OP_SHIFT_RIGHT = 0x25,
    OP_SHIFT_RIGHT_SIGNED = 0x26,
    OP_XOR = 0x27,
    OP_BRANCH = 0x28,
    OP_EQUAL = 0x29,
    OP_GREATER_EQUAL = 0x2a,
    OP_GREATER = 0x2b,
    OP_LESS_EQUAL = 0x2c,
    OP_LESS = 0x2d,
    OP_NOT_EQUAL = 0x2e,
    OP_SKIP = 0x2f,
    OP_LITERALS = 0x30,
    OP_REGISTERS = 0x50,
    OP_BASES = 0x70, /* register + offset */
    OP_BASES_END = 0x90,
    OP_REGISTER = 0x90,
    OP_BASE = 0x92,
    OP_LOAD_BYTES = 0x94,
    OP_NOTHING = 0x96,
};

static COLD void push(struct pl_machine *machine, uint64_t value)
{
    if (machine->depth == PL_EXPRESSION_DEPTH)
        machine->bad = true;
    else
        machine->operand[machine->depth++] = value;
}

static COLD uint64_t pop(struct pl_machine *machine)
{
    if (machine->depth == 0) {
        machine->bad = true;
        return 0;
    }
    return machine->operand[--machine->depth];
}

/* The operand `below` the top. */
static COLD uint64_t pick(struct pl_machine *machine, unsigned below)
{
    if (below >= machine->depth) {
        machine->bad = true;
        return 0;
    }
    return machine->operand[machine->depth - 1 - below];
}

static bool has_vectors;

void pl_unwind_prepare(void)
{
    has_vectors = pl_arch_has_vectors();
}

/* On AArch64, tables call the length of vectors a register. Threads may have different ones, so no rule may be made of
 * it: that is computed without memory. */
static COLD uint64_t get_register(struct pl_machine *machine, uint64_t number)
{
    const struct pl_registers *registers = machine->registers;
    if (PL_ARCH_VECTOR_LENGTH && number == PL_ARCH_VECTOR_LENGTH && has_vectors && machine->memory)
        return pl_arch_vector_length();
    if (number >= PL_ARCH_REGISTERS || !(registers->known >> number & 1)) {
        machine->bad = true;
        return 0;
    }
    return registers->value[number];
}

/* Loads an aligned word or a part of one: no more is needed, and it cannot cross a page boundary. */
static COLD void load(struct pl_machine *machine, unsigned bytes)
{
    uint64_t address = pop(machine);
    uint64_t *operand = &machine->operand[machine->depth]; /* where the address was */
    unsigned shift = 8 * (address % 8);
    if (machine->bad || machine->memory == NULL || bytes == 0 || shift + 8 * bytes > 64 ||
        !pl_bounds_read(machine->memory, address & ~7ull, operand))
        machine->bad = true;
    else
        push(machine, *operand >> shift & ~0ull >> (64 - 8 * bytes));
}

static COLD uint64_t take_constant(struct pl_cursor *program, uint8_t op)
{
    unsigned bytes = 1u << (op - OP_CONSTANTS) / 2;
    uint64_t value = pl_cursor_fixed(program, bytes);
    return (op - OP_CONSTANTS) % 2 ? (uint64_t) pl_cursor_sign_extend(value, 8 * bytes) : value;
}

static COLD void jump(struct pl_machine *machine, bool taken)
{
    int64_t by = pl_cursor_sign_extend(pl_cursor_fixed(&machine->program, 2), 16);
    int64_t from = machine->program.at - machine->start;
    if (!taken)
        return;
    if (from + by < 0 || from + by > machine->program.end - machine->start)
        machine->bad = true;
    else
        machine->program.at = machine->start + from + by;
}

static COLD void rotate(struct pl_machine *machine)
{
    uint64_t top = pop(machine);
    uint64_t second = pop(machine);
    uint64_t third = pop(machine);
    push(machine, top);
    push(machine, third);
    push(machine, second);
}

static COLD void swap(struct pl_machine *machine)
{
    uint64_t top = pop(machine);
    uint64_t second = pop(machine);
    push(machine, top);
    push(machine, second);
}

static uint64_t divide(struct pl_machine *machine, int64_t a, int64_t b)
{
    if (b == 0 || (b == -1 && a == INT64_MIN)) {
        machine->bad = true;
        return 0;
    }
    return (uint64_t) (a / b);
}

static uint64_t modulo(struct pl_machine *machine, uint64_t a, uint64_t b)
{
    machine->bad |= b == 0;
    return b ? a % b : 0;
}

/* Operations on the two topmost operands. */
static COLD void combine(struct pl_machine *machine, uint8_t op)
{
    uint64_t b = pop(machine);
    uint64_t a = pop(machine);
    int64_t sa = (int64_t) a;
    int64_t sb = (int64_t) b;
    uint64_t result = 0;
    switch (op) {
    case OP_AND:
        result = a & b;
        break;
    case OP_DIVIDE:
        result = divide(machine, sa, sb);
        break;
    case OP_MINUS:
        result = a - b;
        break;
    case OP_MODULO:
        result = modulo(machine, a, b);
        break;
    case OP_MULTIPLY:
        result = a * b;
        break;
    case OP_OR:
        result = a | b;
        break;
    case OP_PLUS:
        result = a + b;
        break;
    case OP_SHIFT_LEFT:
        result = b < 64 ? a << b : 0;
        break;
    case OP_SHIFT_RIGHT:
        result = b < 64 ? a >> b : 0;
        break;
    case OP_SHIFT_RIGHT_SIGNED:
        result = (uint64_t) (sa >> (b < 64 ? b : 63));
        break;
    case OP_XOR:
        result = a ^ b;
        break;
    case OP_EQUAL:
        result = a == b;
        break;
    case OP_GREATER_EQUAL:
        result = sa >= sb;
        break;
    case OP_GREATER:
        result = sa > sb;
        break;
    case OP_LESS_EQUAL:
        result = sa <= sb;
        break;
    case OP_LESS:
        result = sa < sb;
        break;
    case OP_NOT_EQUAL:
        result = a != b;
        break;
    default:
        machine->bad = true;
    }
    push(machine, result);
}

/* Operations with a range of opcodes, where the opcode itself contains an operand. True: it was one of them. */
static COLD bool run_ranged(struct pl_machine *machine, uint8_t op)
{
    if (op >= OP_CONSTANTS && op < OP_ULEB)
        push(machine, take_constant(&machine->program, op));
    else if (op >= OP_LITERALS && op < OP_REGISTERS)
        push(machine, op - OP_LITERALS);
    else if (op >= OP_REGISTERS && op < OP_BASES)
        push(machine, get_register(machine, op - OP_REGISTERS));
    else if (op >= OP_BASES && op < OP_BASES_END)
        push(machine, get_register(machine, op - OP_BASES) + (uint64_t) pl_cursor_sleb(&machine->program));
    else
        return false;
    return true;
}

static COLD void run_one(struct pl_machine *machine, uint8_t op)
{
    struct pl_cursor *program = &machine->program;
    uint64_t value;
    switch (op) {
    case OP_ADDRESS:
        push(machine, pl_cursor_fixed(program, 8));
        break;
    case OP_LOAD:
        load(machine, 8);
        break;
    case OP_LOAD_BYTES:
        load(machine, pl_cursor_byte(program));
        break;
    case OP_ULEB:
        push(machine, pl_cursor_uleb(program));
        break;
    case OP_SLEB:
        push(machine, (uint64_t) pl_cursor_sleb(program));
        break;
    case OP_DUPLICATE:
        push(machine, pick(machine, 0));
        break;
    case OP_DROP:
        pop(machine);
        break;
    case OP_OVER:
        push(machine, pick(machine, 1));
        break;
    case OP_PICK:
        push(machine, pick(machine, pl_cursor_byte(program)));
        break;
    case OP_SWAP:
        swap(machine);
        break;
    case OP_ROTATE:
        rotate(machine);
        break;
    case OP_ABSOLUTE:
        value = pop(machine);
        push(machine, (int64_t) value < 0 ? -value : value);
        break;
    case OP_NEGATE:
        push(machine, -pop(machine));
        break;
    case OP_NOT:
        push(machine, ~pop(machine));
        break;
    case OP_PLUS_ULEB:
        push(machine, pop(machine) + pl_cursor_uleb(program));
        break;
    case OP_SKIP:
        jump(machine, true);
        break;
    case OP_BRANCH:
        jump(machine, pop(machine) != 0);
        break;
    case OP_REGISTER:
        push(machine, get_register(machine, pl_cursor_uleb(program)));
        break;
    case OP_BASE:
        value = get_register(machine, pl_cursor_uleb(program));
        push(machine, value + (uint64_t) pl_cursor_sleb(program));
        break;
    case OP_NOTHING:
        break;
    default:
        combine(machine, op);
    }
}

static COLD void open_program(const struct pl_cfi *cfi, uintptr_t at, struct pl_cursor *program)
{
    *program = pl_ehframe_cursor(cfi, at);
    uint64_t bytes = pl_cursor_uleb(program);
    if (bytes > pl_cursor_left(program))
        pl_cursor_fail(program);
    else
        program->end = program->at + bytes;
}

COLD bool pl_expression_compute(struct pl_machine *machine, uintptr_t at, const uint64_t *first, uint64_t *out)
{
    open_program(machine->cfi, at, &machine->program);
    machine->start = machine->program.at;
    machine->depth = 0;
    machine->bad = false;
    if (first != NULL)
        push(machine, *first);
    for (int steps = 0; machine->program.at < machine->program.end; steps++) {
        uint8_t op = pl_cursor_byte(&machine->program);
        if (!run_ranged(machine, op))
            run_one(machine, op);
        if (machine->bad || machine->program.bad || steps == STEPS_MAX)
            return false;
    }
    *out = pop(machine);
    return !machine->bad && !machine->program.bad;
}

COLD bool pl_expression_is_register(const struct pl_cfi *cfi, uintptr_t at, unsigned number, bool loads,
                                    int64_t *offset)
{
    struct pl_cursor program;
    open_program(cfi, at, &program);
    if (pl_cursor_byte(&program) != OP_BASES + number)
        return false;
    *offset = pl_cursor_sleb(&program);
    if (loads && pl_cursor_byte(&program) != OP_LOAD)
        return false;
    return !program.bad && program.at == program.end;
}
