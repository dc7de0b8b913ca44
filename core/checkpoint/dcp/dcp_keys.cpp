// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/dcp/dcp_keys.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <set>

namespace shardscope {

namespace {

using std::string_view;
using Path = std::vector<DcpStep>;

constexpr std::array<string_view, 3> kOptimizers{"optim", "optimizer", "optimizers"};
constexpr string_view kModel = "model";
constexpr string_view kStates = "state";
constexpr string_view kGroups = "param_groups";
constexpr uint32_t kMaxGroups = 1'000'000;

/// Containers whose tensors belong to the run and not to the model.
constexpr std::array<string_view, 15> kOfRun{"deepspeed", "scaler", "grad_scaler", "scheduler", "schedulers",
    "lr_scheduler", "lr_schedulers", "sched", "dataloader", "train_state", "trainer", "progress", "rng",
    "rng_state", "extra_state"};

template <size_t N>
bool contains(const std::array<string_view, N>& list, string_view text)
{
    return std::find(list.begin(), list.end(), text) != list.end();
}

bool take(string_view& text, string_view prefix)
{
    if (!text.starts_with(prefix) || text.size() == prefix.size())
        return false;
    text.remove_prefix(prefix.size());
    return true;
}

string_view textOf(const Path& path, size_t at)
{
    const auto* text = at < path.size() ? std::get_if<std::string>(&path[at]) : nullptr;
    return text != nullptr ? string_view(*text) : string_view();
}

std::string joined(const Path& path, size_t begin, size_t end)
{
    std::string out;
    for (size_t i = begin; i < end; ++i) {
        const auto* text = std::get_if<std::string>(&path[i]);
        out += (i > begin ? "." : "")
            + (text != nullptr ? *text : std::to_string(std::get<int64_t>(path[i])));
    }
    return out;
}

std::optional<uint32_t> groupNumber(string_view text)
{
    uint32_t out = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    return error == std::errc() && end == text.data() + text.size() && out < kMaxGroups ? std::optional(out)
                                                                                        : std::nullopt;
}

std::optional<uint32_t> groupNumber(const DcpStep& step)
{
    if (const auto* text = std::get_if<std::string>(&step))
        return groupNumber(string_view(*text));
    const int64_t number = std::get<int64_t>(step);
    return number >= 0 && number < kMaxGroups ? std::optional(static_cast<uint32_t>(number)) : std::nullopt;
}

/// Whether an optimizer's part begins at this step: its name, then "state" or "param_groups", alone or as the
/// beginning of a flat key.
bool isOptimizerAt(const Path& path, size_t at)
{
    const string_view next = textOf(path, at + 1);
    if (!contains(kOptimizers, textOf(path, at)))
        return false;
    return std::ranges::any_of(std::array{kStates, kGroups}, [&](string_view part) {
        return next == part || (next.starts_with(part) && next.substr(part.size()).starts_with('.'));
    });
}

/// "NAME.LAST". Names of states and options have no dots.
bool splitLast(string_view text, std::string& name, std::string& last)
{
    const size_t dot = text.rfind('.');
    if (dot == string_view::npos || dot == 0 || dot + 1 == text.size())
        return false;
    name = text.substr(0, dot);
    last = text.substr(dot + 1);
    return true;
}

void setGroupKey(DcpKey& key, uint32_t group, Path option)
{
    key.group = group;
    key.name = joined(option, 0, option.size());
    key.kind = key.name == "params" ? DcpKey::Kind::GroupMembers : DcpKey::Kind::GroupOption;
    key.path = {"optim", std::string(kGroups), int64_t{group}};
    key.path.insert(key.path.end(), option.begin(), option.end());
}

/// The key of a value in the optimizer's part; `at` is the first step after the optimizer's name. `numbered`:
/// a number in a flat key is a group's: nothing records that a parameter has this name.
DcpKey optimizerKey(const Path& path, size_t at, bool numbered)
{
    DcpKey key;
    key.kind = DcpKey::Kind::Unknown;
    string_view flat = textOf(path, at);
    const size_t steps = path.size() - at;
    if (flat == kStates && steps > 2) {
        key.kind = DcpKey::Kind::State;
        key.name = joined(path, at + 1, at + 2);
        key.state = joined(path, at + 2, path.size());
    } else if (flat == kGroups && steps > 2) {
        if (const auto group = groupNumber(path[at + 1]))
            setGroupKey(key, *group, {path.begin() + static_cast<ptrdiff_t>(at) + 2, path.end()});
    } else if (flat == kGroups && steps == 1) { // all groups in one object
        key.kind = DcpKey::Kind::GroupOption;
        key.path = {"optim", std::string(kGroups)};
    } else if (steps == 1 && take(flat, "state.")) {
        if (splitLast(flat, key.name, key.state))
            key.kind = DcpKey::Kind::State;
    } else if (steps == 1 && take(flat, "param_groups.") && splitLast(flat, key.name, key.state)) {
        const auto group = numbered ? groupNumber(string_view(key.name)) : std::nullopt;
        key.kind = DcpKey::Kind::ParamOption;
        if (group)
            setGroupKey(key, *group, {std::exchange(key.state, {})});
    }
    return key;
}

/// The path that the dots of a key stand for, if they name an optimizer's part, below `outer`. Else empty.
Path optimizerPath(string_view key, string_view outer)
{
    if (!outer.empty() && (!take(key, outer) || !take(key, ".")))
        return {};
    for (const string_view name : kOptimizers) {
        string_view rest = key;
        if (!take(rest, name) || !take(rest, "."))
            continue;
        Path path{std::string(name), std::string(rest)};
        if (isOptimizerAt(path, 0))
            return path;
    }
    return {};
}

bool isOfRun(const Path& path)
{
    return path.size() > 1 && (contains(kOfRun, textOf(path, 0)) || contains(kOfRun, textOf(path, 1)));
}

/// Whether it is carried like the run's counters: everything but tensors that look like weights or moments.
bool isExtra(const DcpEntry& entry, const Path& path)
{
    return !entry.isTensor
        || (entry.chunks.size() == 1
            && (isOfRun(path) || !isFloatingPoint(entry.dtype) || elementCount(entry.shape) == uint64_t{1}));
}

class KeyParser
{
public:
    explicit KeyParser(std::span<const DcpEntry> entries)
        : m_entries(entries)
        , m_keys(entries.size())
        , m_known(entries.size(), false)
    {
        for (const DcpEntry& entry : entries) {
            m_recorded = m_recorded || !entry.path.empty();
            m_paths.push_back(entry.path.empty() ? Path{entry.key} : entry.path);
        }
    }

    std::vector<DcpKey> parse()
    {
        takeOptimizer();
        findModel();
        for (size_t i = 0; i < m_entries.size(); ++i) {
            DcpKey& key = m_keys[i];
            if (!m_known[i])
                key = otherKey(i);
            if (key.path.empty())
                key.path = m_paths[i];
        }
        refuseTwoForms();
        return std::move(m_keys);
    }

private:
    /// A key whose dots may stand for containers.
    [[nodiscard]] bool isText(size_t i) const { return m_paths[i].size() == 1; }

    void takeOptimizer()
    {
        m_outer = m_recorded ? std::string() : commonStep();
        for (size_t i = 0; i < m_entries.size(); ++i) {
            const Path& path = m_paths[i];
            Path flat;
            if (isText(i))
                flat = optimizerPath(m_entries[i].key, m_outer);
            const bool inRoot = !flat.empty() || isOptimizerAt(path, 0);
            if (!inRoot && !isOptimizerAt(path, 1))
                continue;
            m_known[i] = true;
            m_keys[i]
                = !flat.empty() ? optimizerKey(flat, 1, true) : optimizerKey(path, inRoot ? 1 : 2, false);
            if (m_keys[i].kind == DcpKey::Kind::State)
                m_stateNames.insert(m_keys[i].name);
        }
    }

    /// Without recorded paths: the first part of every key, if all have the same and it contains the model.
    [[nodiscard]] std::string commonStep() const
    {
        std::string out;
        for (const DcpEntry& entry : m_entries) {
            const std::string first = entry.key.substr(0, entry.key.find('.'));
            if (out.empty() && first != kModel && !contains(kOptimizers, first))
                out = first;
            if (first != out)
                return {};
        }
        const bool model = std::ranges::any_of(m_entries, [&](const DcpEntry& entry) {
            return entry.key.starts_with(out + "." + std::string(kModel) + ".");
        });
        return model ? out : std::string();
    }

    /// The container "model" in the root, else below another step.
    [[nodiscard]] Path modelContainer() const
    {
        for (size_t at = 0; at < 2; ++at) {
            for (size_t i = 0; i < m_entries.size(); ++i) {
                const Path& path = m_paths[i];
                if (isCandidate(i) && at + 1 < path.size() && textOf(path, at) == kModel)
                    return {path.begin(), path.begin() + static_cast<ptrdiff_t>(at) + 1};
            }
        }
        return {};
    }

    /// Decides where the parameters are: m_model, m_prefix or m_all.
    void findModel()
    {
        m_model = modelContainer();
        if (!m_model.empty())
            return;
        m_prefix = (m_outer.empty() ? std::string() : m_outer + ".") + std::string(kModel) + ".";
        if (!isPrefixContainer())
            m_prefix.clear();
        m_all = std::none_of(m_known.begin(), m_known.end(), [](bool known) { return known; });
    }

    [[nodiscard]] bool isCandidate(size_t i) const { return m_entries[i].isTensor && !m_known[i]; }

    /// Whether "model." at the beginning of keys without steps is a container.
    [[nodiscard]] bool isPrefixContainer() const
    {
        size_t named = 0;
        size_t below = 0;
        size_t outside = 0;
        for (size_t i = 0; i < m_entries.size(); ++i) {
            if (!isCandidate(i) || !isText(i))
                continue;
            string_view name = m_entries[i].key;
            named += m_stateNames.contains(std::string(name)) ? 1 : 0;
            if (take(name, m_prefix))
                below += m_stateNames.contains(std::string(name)) ? 1 : 0;
            else
                outside += isExtra(m_entries[i], m_paths[i]) ? 0 : 1;
        }
        if (m_stateNames.empty())
            return !m_recorded && outside == 0;
        return below > named;
    }

    /// Options of groups and of single parameters in one checkpoint have no common meaning.
    void refuseTwoForms()
    {
        const bool groups = std::ranges::any_of(m_keys, [](const DcpKey& key) {
            return key.kind == DcpKey::Kind::GroupOption || key.kind == DcpKey::Kind::GroupMembers;
        });
        for (DcpKey& key : m_keys) {
            if (groups && key.kind == DcpKey::Kind::ParamOption)
                key.kind = DcpKey::Kind::Unknown;
        }
    }

    [[nodiscard]] DcpKey otherKey(size_t i) const
    {
        const DcpEntry& entry = m_entries[i];
        const Path& path = m_paths[i];
        DcpKey out;
        const auto named = [&](std::string name) {
            out.kind = DcpKey::Kind::Model;
            out.name = std::move(name);
            return out;
        };
        string_view below = entry.key;
        if (!m_model.empty()) {
            if (path.size() > m_model.size() && std::equal(m_model.begin(), m_model.end(), path.begin())
                && entry.isTensor)
                return named(joined(path, m_model.size(), path.size()));
        } else if (!m_prefix.empty()) {
            if (entry.isTensor && isText(i) && take(below, m_prefix))
                return named(std::string(below));
        } else if (entry.isTensor && !isOfOptimizer(path) && (isText(i) || (m_all && !isOfRun(path)))) {
            return named(entry.key);
        }
        if (isOfOptimizer(path) || !isExtra(entry, path))
            out.kind = DcpKey::Kind::Unknown;
        return out;
    }

    /// Whether it is in an optimizer, in a form that this build does not know.
    [[nodiscard]] static bool isOfOptimizer(const Path& path)
    {
        const string_view first = textOf(path, 0);
        const string_view root = first.substr(0, first.find('.'));
        return contains(kOptimizers, root) || (path.size() > 1 && contains(kOptimizers, textOf(path, 1)));
    }

    std::span<const DcpEntry> m_entries;
    std::vector<DcpKey> m_keys;
    std::vector<bool> m_known; ///< by entry: it is in the optimizer
    std::vector<Path> m_paths; ///< by entry; one step with the whole key if none is recorded
    bool m_recorded = false; ///< whether paths are
    std::set<std::string, std::less<>> m_stateNames; ///< of the parameters that have states
    std::string m_outer; ///< without recorded paths: the first part of all keys
    Path m_model; ///< the container of the parameters, if paths name one
    std::string m_prefix; ///< the same, if only the dots of keys do
    bool m_all = false; ///< no optimizer and no container for the model: every tensor is one of the model
};

} // namespace

std::vector<DcpKey> parseDcpKeys(std::span<const DcpEntry> entries)
{
    return KeyParser(entries).parse();
}

} // namespace shardscope
