// SPDX-License-Identifier: MIT
//
// plimsoll.hpp - plimsoll.h for C++: scopes that end by themselves.
//
//     #include <plimsoll.hpp>
//
//     Table Loader::load(const std::string &path)
//     {
//         PLIMSOLL_FUNCTION_SCOPE();                     "Loader::load", until the end of the block
//         for (Row &row : rows(path)) {
//             PLIMSOLL_SCOPE("row");                     "Loader::load/row"
//             ...
//
// Header only, C++11 and later, nothing to link, as plimsoll.h. A scope ends when its object is destroyed, by an
// exception too. Nothing here throws or allocates. If the profiler is not loaded, entering and leaving a scope are one
// test and one branch each: names are not read, and no static object has to be initialized at run time.
//
// Objects of these classes belong to a block: the thread that made them must destroy them, in reverse order. So they
// cannot be copied or moved. Do not use them with longjmp() or with coroutines that move between threads, which break
// this rule.
#ifndef PLIMSOLL_HPP
#define PLIMSOLL_HPP

#include <memory>
#include <string>
#include <type_traits>
#if __cplusplus >= 201703L && defined(__has_include)
#if __has_include(<memory_resource>)
#include <memory_resource>
#define PLIMSOLL_HAS_PMR
#endif
#endif

#include "plimsoll.h"

#if __cplusplus >= 201703L
#define PLIMSOLL_NODISCARD [[nodiscard]] // Scope("x"); ends at its semicolon
#else
#define PLIMSOLL_NODISCARD
#endif
#define PLIMSOLL_COLD __attribute__((noinline, cold))

namespace plimsoll
{

namespace detail
{

// __PRETTY_FUNCTION__ reduced to `Class::function`.
//
// Every blank outside of brackets restarts the name, which removes the result type. Everything in brackets is skipped,
// which removes parameters and template arguments. Namespaces stay, except anonymous ones. An entity inside a function
// follows the function's name: `main::<lambda>`. The name is never longer than the text it is made from, provided that
// all brackets of the text are closed.
class FunctionName
{
  public:
    // `name` has room for as many characters as `pretty`.
    FunctionName(const char *pretty, char *name) noexcept : at_(pretty), name_(name), end_(name)
    {
        while (*at_ && step()) {
        }
        *end_ = 0;
    }

  private:
    const char *at_;
    char *const name_;
    char *end_;

    static bool is_word(char c) noexcept
    {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
               (c & 0x80);
    }

    bool see(const char *text) const noexcept
    {
        return __builtin_strncmp(at_, text, __builtin_strlen(text)) == 0;
    }

    // If `text` is here, moves behind it.
    bool take(const char *text) noexcept
    {
        if (!see(text))
            return false;
        at_ += __builtin_strlen(text);
        return true;
    }

    bool name_is(const char *text) const noexcept
    {
        std::size_t length = __builtin_strlen(text);
        return length == static_cast<std::size_t>(end_ - name_) && __builtin_strncmp(name_, text, length) == 0;
    }

    void put(const char *text) noexcept
    {
        while (*text)
            *end_++ = *text++;
    }

    // Moves from an opening bracket to behind the closing one. Inside round brackets < and > are taken as operators.
    void skip_brackets() noexcept
    {
        char open = *at_, close = open == '(' ? ')' : '>';
        for (at_++; *at_ && *at_ != close;) {
            if (*at_ == '(' || *at_ == open)
                skip_brackets();
            else if (!take("->"))
                at_++;
        }
        if (*at_)
            at_++;
    }

    // Each of the following takes a step, and returns whether the name may continue.

    bool start_over() noexcept
    {
        end_ = name_;
        while (*at_ == ' ' || *at_ == '*' || *at_ == '&')
            at_++;
        return true;
    }

    // At `operator`: brackets that follow it may be part of the name.
    bool step_operator() noexcept
    {
        put("operator");
        take("operator");
        if (take("()")) {
            put("()");
            return true;
        }
        bool is_type = *at_ == ' '; // or new, or delete
        while (*at_ && *at_ != '(' && (is_type || *at_ != ' ')) {
            if (is_type && *at_ == '<')
                skip_brackets();
            else
                *end_++ = *at_++;
        }
        return true;
    }

    // At `(`: usually parameters. An entity inside the function follows them.
    bool step_round() noexcept
    {
        if (take("(anonymous namespace)::"))
            return true;
        if (see("(*") || see("(&")) { // the result is a pointer to a function
            at_++;
            return start_over();
        }
        bool is_lambda = see("(anonymous class)") || see("(lambda at ");
        bool is_type = end_ == name_ || name_is("decltype");
        skip_brackets();
        if (is_lambda) {
            put("<lambda>");
            take("::operator()");
            return true;
        }
        if (is_type)
            return start_over();
        while (take(" const") || take(" volatile") || take(" &") || take("&") || take(" noexcept")) {
        }
        return *at_ == ':';
    }

    // At `<`: template arguments, or a name that the compiler has made up.
    bool step_angle() noexcept
    {
        bool is_name = end_ == name_ || end_[-1] == ':', is_lambda = see("<lambda");
        skip_brackets();
        if (is_name)
            put(is_lambda ? "<lambda>" : "<>");
        return true;
    }

    bool step() noexcept
    {
        if (*at_ == '[' || see(" ["))
            return false;
        if (*at_ == ' ')
            return start_over();
        if (*at_ == '(')
            return step_round();
        if (*at_ == '<')
            return step_angle();
        if (take("{anonymous}::"))
            return true;
        if (see("operator") && !is_word(at_[8]) && (end_ == name_ || !is_word(end_[-1])))
            return step_operator();
        *end_++ = *at_++;
        return true;
    }
};

} // namespace detail

// A name that is entered often: it is prepared when it is first entered, and cheaper from then on. All threads may use
// the same object. It is initialized at compile time, so it may be static anywhere, and be used before main:
//
//     static plimsoll::Tag parsing("parse");
//
// `name` must live as long as the tag, as a literal does.
class Tag
{
  public:
    constexpr explicit Tag(const char *name) noexcept : name_(name), is_function_(false), prepared_(nullptr)
    {
    }

    Tag(const Tag &) = delete;
    Tag &operator=(const Tag &) = delete;

    // `pretty` is __PRETTY_FUNCTION__.
    struct OfFunction {
        const char *pretty;
    };
    constexpr explicit Tag(OfFunction function) noexcept
        : name_(function.pretty), is_function_(true), prepared_(nullptr)
    {
    }

  private:
    friend class Scope;

    const char *name_;
    bool is_function_;
    mutable plimsoll_tag prepared_;

    // Only called if the profiler is loaded. Several threads may prepare the name at once: all get the same result.
    void enter() const noexcept
    {
        plimsoll_tag tag = __atomic_load_n(&prepared_, __ATOMIC_ACQUIRE);
        (plimsoll_enter)(__builtin_expect(tag != nullptr, 1) ? tag : prepare());
    }

    PLIMSOLL_COLD plimsoll_tag prepare() const noexcept
    {
        plimsoll_tag tag;
        if (is_function_) {
            char *name = static_cast<char *>(__builtin_alloca(__builtin_strlen(name_) + 1));
            detail::FunctionName(name_, name);
            tag = (plimsoll_prepare) (name);
        } else {
            tag = (plimsoll_prepare) (name_);
        }
        __atomic_store_n(&prepared_, tag, __ATOMIC_RELEASE);
        return tag;
    }
};

// plimsoll_push() and plimsoll_pop(): from here to the end of the block this thread's allocations are charged to the
// tag.
class PLIMSOLL_NODISCARD Scope
{
  public:
    explicit Scope(const char *name) noexcept
    {
        plimsoll_push(name);
    }

    explicit Scope(const std::string &name) noexcept
    {
        plimsoll_push(name.c_str());
    }

    explicit Scope(const Tag &tag) noexcept
    {
        if (plimsoll_enter)
            tag.enter();
    }

    ~Scope()
    {
        plimsoll_pop();
    }

    Scope(const Scope &) = delete;
    Scope &operator=(const Scope &) = delete;
};

// plimsoll_adopt(), undone at the end of the block: charges a job in another thread to the tag of the requester.
//
//     queue.add([=, context = plimsoll_capture()] {
//         plimsoll::Adopted adopted(context);
//         ...
//     });
class PLIMSOLL_NODISCARD Adopted
{
  public:
    explicit Adopted(plimsoll_context context) noexcept : before_(plimsoll_adopt ? (plimsoll_adopt) (context) : 0)
    {
    }

    ~Adopted()
    {
        if (plimsoll_adopt)
            (plimsoll_adopt)(before_);
    }

    Adopted(const Adopted &) = delete;
    Adopted &operator=(const Adopted &) = delete;

  private:
    plimsoll_context before_;
};

// A heap that the program announces: see plimsoll_heap_create(). Destroyed with the object.
//
//     class Arena
//     {
//         plimsoll::Heap heap_{"arena"};
//         ...
//             heap_.allocated(block, bytes);
class Heap
{
  public:
    explicit Heap(const char *name, plimsoll_heap above = nullptr) noexcept : heap_(plimsoll_heap_create(name, above))
    {
    }

    Heap(const char *name, const Heap &above) noexcept : Heap(name, above.heap_)
    {
    }

    ~Heap()
    {
        plimsoll_heap_destroy(heap_);
    }

    Heap(const Heap &) = delete;
    Heap &operator=(const Heap &) = delete;

    // For the functions of plimsoll.h.
    plimsoll_heap handle() const noexcept
    {
        return heap_;
    }

    void clear() noexcept
    {
        plimsoll_heap_clear(heap_);
    }

    void allocated(void *block, std::size_t bytes) noexcept
    {
        plimsoll_heap_allocated(heap_, block, bytes);
    }

    void reallocated(const void *old, void *block, std::size_t bytes) noexcept
    {
        plimsoll_heap_reallocated(heap_, old, block, bytes);
    }

    void freed(const void *block) noexcept
    {
        plimsoll_heap_freed(heap_, block);
    }

    void took(void *chunk, std::size_t bytes) noexcept
    {
        plimsoll_heap_took(heap_, chunk, bytes);
    }

    void gave(const void *chunk) noexcept
    {
        plimsoll_heap_gave(heap_, chunk);
    }

  private:
    plimsoll_heap heap_;
};

// An allocator for containers that announces what another one does. Copies and rebound copies share the heap, which
// must live longer than all of them.
//
//     plimsoll::Heap heap("index");
//     std::vector<int, plimsoll::Allocator<int>> index{plimsoll::Allocator<int>(heap)};
template <class T, class Upstream = std::allocator<T>> class Allocator
{
    using Traits = std::allocator_traits<Upstream>;
    template <class U, class V> friend class Allocator;

  public:
    using value_type = T;
    using propagate_on_container_copy_assignment = std::true_type;
    using propagate_on_container_move_assignment = std::true_type;
    using propagate_on_container_swap = std::true_type;
    template <class U> struct rebind {
        using other = Allocator<U, typename Traits::template rebind_alloc<U>>;
    };

    explicit Allocator(Heap &heap, const Upstream &upstream = Upstream()) : heap_(&heap), upstream_(upstream)
    {
    }

    template <class U, class V>
    Allocator(const Allocator<U, V> &other) noexcept : heap_(other.heap_), upstream_(other.upstream_)
    {
    }

    T *allocate(std::size_t count)
    {
        T *block = Traits::allocate(upstream_, count);
        heap_->allocated(block, count * sizeof(T));
        return block;
    }

    void deallocate(T *block, std::size_t count) noexcept
    {
        heap_->freed(block);
        Traits::deallocate(upstream_, block, count);
    }

    template <class U, class V> bool operator==(const Allocator<U, V> &other) const noexcept
    {
        return heap_ == other.heap_ && upstream_ == Upstream(other.upstream_);
    }

    template <class U, class V> bool operator!=(const Allocator<U, V> &other) const noexcept
    {
        return !(*this == other);
    }

  private:
    Heap *heap_;
    Upstream upstream_;
};

#ifdef PLIMSOLL_HAS_PMR
// A std::pmr::memory_resource that announces what another one does. If that is released at once, call clear().
//
//     std::pmr::monotonic_buffer_resource buffer;
//     plimsoll::MemoryResource announced("request", &buffer);
//     std::pmr::vector<int> numbers(&announced);
class MemoryResource : public std::pmr::memory_resource
{
  public:
    explicit MemoryResource(const char *name, std::pmr::memory_resource *upstream = std::pmr::get_default_resource())
        : heap_(name), upstream_(upstream)
    {
    }

    Heap &heap() noexcept
    {
        return heap_;
    }

    // All blocks are gone.
    void clear() noexcept
    {
        heap_.clear();
    }

  private:
    Heap heap_;
    std::pmr::memory_resource *upstream_;

    void *do_allocate(std::size_t bytes, std::size_t alignment) override
    {
        void *block = upstream_->allocate(bytes, alignment);
        heap_.allocated(block, bytes);
        return block;
    }

    void do_deallocate(void *block, std::size_t bytes, std::size_t alignment) override
    {
        heap_.freed(block);
        upstream_->deallocate(block, bytes, alignment);
    }

    bool do_is_equal(const std::pmr::memory_resource &other) const noexcept override
    {
        return this == &other;
    }
};
#endif

// plimsoll_pause() and plimsoll_resume(): this thread's allocations are not recorded until the end of the block.
class PLIMSOLL_NODISCARD Paused
{
  public:
    Paused() noexcept
    {
        plimsoll_pause();
    }

    ~Paused()
    {
        plimsoll_resume();
    }

    Paused(const Paused &) = delete;
    Paused &operator=(const Paused &) = delete;
};

} // namespace plimsoll

#define PLIMSOLL_JOIN_(a, b) a##b
#define PLIMSOLL_JOIN(a, b) PLIMSOLL_JOIN_(a, b)
#define PLIMSOLL_SCOPE_OF(tag, ...)                                                                                    \
    static ::plimsoll::Tag tag(__VA_ARGS__);                                                                           \
    ::plimsoll::Scope PLIMSOLL_JOIN(tag, _scope)(tag)

// A scope from here to the end of the block, with a prepared name: the cheapest form. The name must be a literal. Use
// it only once per line: the line number is part of the variables' names. (A counter would give an inline function
// different names in each file that includes it.)
#define PLIMSOLL_SCOPE(name) PLIMSOLL_SCOPE_OF(PLIMSOLL_JOIN(plimsoll_tag_, __LINE__), "" name)

// The same, named after the function it is in: `Class::function`, without types and template arguments.
#define PLIMSOLL_FUNCTION_SCOPE()                                                                                      \
    PLIMSOLL_SCOPE_OF(PLIMSOLL_JOIN(plimsoll_function_, __LINE__), ::plimsoll::Tag::OfFunction{__PRETTY_FUNCTION__})

#endif
