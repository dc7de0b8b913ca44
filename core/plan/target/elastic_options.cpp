// SPDX-License-Identifier: Apache-2.0
#include "core/plan/target/elastic_options.h"

#include "core/base/finding_codes.h"
#include "core/checkpoint/model/model_states.h"
#include "core/checkpoint/model/optim_states.h"
#include "core/plan/target/named_option.h"
#include "core/plan/target/optimizer_needs.h"
#include "core/plan/target/reshard_options.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <algorithm>
#include <map>
#include <set>

namespace shardscope {

namespace {

enum class Origin { Named, Scheduler, Configuration, States };

/// Gathers the options and writes them into a copy of the checkpoint.
class OptionsOf
{
public:
    explicit OptionsOf(const Checkpoint& source)
        : m_source(source)
        , m_optim(source.file(source.templateOptim).content)
        , m_graph(m_optim->pickle())
        , m_modelStates(modelStates(source))
        , m_model(*m_modelStates.graph)
        , m_importer(m_builder, m_graph)
        , m_modelImporter(m_builder, m_model)
        , m_config(readableModel(source).configValue({"optimizer", "params"}))
        , m_step(optimStates(source).baseStep)
        , m_scheduler(schedulerState(m_modelStates))
    {
    }

    /// With the options that the file has.
    WithOptions carried()
    {
        std::vector<NodeId> groups;
        for (const ParamGroup& group : m_source.groups)
            groups.push_back(m_importer.import(group.options));
        return {rewritten(groups), {}};
    }

    Result<WithOptions> run(const std::vector<NamedOption>& named)
    {
        std::vector<NodeId> groups;
        for (uint32_t g = 0; g < m_source.groups.size(); ++g) {
            m_options = m_builder.dict();
            m_known.clear();
            SHARDSCOPE_CHECK(addNamed(named, g));
            addNeeded(g);
            m_builder.setItem(m_options, m_builder.string("params"), m_builder.list(stateKeys(g)));
            groups.push_back(m_options);
        }
        if (!m_missing.empty())
            return refuseMissing();
        return WithOptions{rewritten(groups), notes()};
    }

private:
    /// Numbers of a group's states: its own, or those of its sub-groups.
    [[nodiscard]] std::vector<NodeId> stateKeys(uint32_t g)
    {
        std::vector<NodeId> out;
        for (const UnitId unit : m_source.groups[g].units)
            out.push_back(m_builder.integer(m_source.units[index(unit)].subgroup.value_or(g)));
        return out;
    }

    void put(const std::string& key, NodeId value, Origin origin)
    {
        m_builder.setItem(m_options, m_builder.string(key), value);
        m_known.insert(key);
        m_origins[origin].insert(key);
    }

    /// What names a group beats what names all of them, the last beats those before.
    Status addNamed(const std::vector<NamedOption>& named, uint32_t g)
    {
        std::map<std::string, const NamedOption*> chosen;
        for (const bool specific : {false, true}) {
            for (const NamedOption& option : named) {
                if (option.group.has_value() == specific && option.group.value_or(g) == g)
                    chosen[option.key] = &option;
            }
        }
        std::set<std::string_view> done;
        for (const NamedOption& option : named) { // in the order in which they were named
            const auto found = chosen.find(option.key);
            if (found == chosen.end() || !done.insert(found->first).second)
                continue;
            SHARDSCOPE_TRY(const NodeId value, optionValue(m_builder, found->second->value));
            put(option.key, value, Origin::Named);
        }
        return {};
    }

    void addNeeded(uint32_t g)
    {
        const OptimizerNeeds needs = optimizerNeeds(unitOf(g), m_step != kNoNode);
        m_optimizer = needs.optimizer;
        std::vector<std::string> keys(needs.keys.begin(), needs.keys.end());
        addSchedulerKeys(keys);
        for (const std::string& key : keys)
            addOne(key, g);
        for (const auto& [key, value] : needs.implied) {
            if (!m_known.contains(key))
                put(std::string(key), m_builder.boolean(value), Origin::States);
        }
        if (const NodeId rate = rateOf(m_scheduler.baseRates, g);
            rate != kNoNode && !m_known.contains("initial_lr"))
            put("initial_lr", m_modelImporter.import(rate), Origin::Scheduler);
        // The first group's is used for all, as stock restores it.
        if (m_step != kNoNode && !m_known.contains("step"))
            put("step", m_importer.import(m_step), Origin::States);
    }

    /// torch's OneCycleLR keeps its limits in the param groups.
    void addSchedulerKeys(std::vector<std::string>& keys) const
    {
        if (m_scheduler.annealFunction == kNoNode)
            return;
        keys.insert(keys.end(), {"max_lr", "min_lr"});
        if (schedulesMomentum())
            keys.insert(keys.end(), {"max_momentum", "base_momentum"});
    }

    [[nodiscard]] bool schedulesMomentum() const
    {
        const NodeId cycles = m_scheduler.cycleMomentum;
        return cycles != kNoNode && asBool(m_model, cycles).value_or(true);
    }

    void addOne(const std::string& key, uint32_t g)
    {
        if (m_known.contains(key))
            return;
        if (const NodeId rate = rateOf(m_scheduler.lastRates, g); key == "lr" && rate != kNoNode)
            return put(key, m_modelImporter.import(rate), Origin::Scheduler);
        if (const NodeId value = configured(key); value != kNoNode)
            return put(key, m_modelImporter.import(value), Origin::Configuration);
        m_missing[key].push_back(g);
    }

    /// A group's entry of one of the scheduler's lists; kNoNode where it has none.
    [[nodiscard]] NodeId rateOf(NodeId list, uint32_t g) const
    {
        const auto rates = sequenceItems(m_model, list);
        const bool fits = rates.size() == m_source.groups.size() && asNumber(m_model, rates[g]).has_value();
        return fits ? rates[g] : kNoNode;
    }

    /// What ds_config says of the only group, where nothing changes it as training goes on.
    [[nodiscard]] NodeId configured(std::string_view key) const
    {
        const bool scheduled = m_scheduler.node != kNoNode
            || readableModel(m_source).configValue({"scheduler"}) != kNoNode || !m_source.wrapper.empty();
        if (m_source.groups.size() != 1 || (key == "lr" && scheduled)
            || ((key == "betas" || key == "momentum") && schedulesMomentum()))
            return kNoNode;
        return lookup(m_model, m_config, key);
    }

    /// A group without states has those of the others as its guide.
    [[nodiscard]] const FlatUnit& unitOf(uint32_t g) const
    {
        const FlatUnit& own = m_source.units[index(m_source.groups[g].units.front())];
        const auto other = std::find_if(m_source.units.begin(), m_source.units.end(),
            [](const FlatUnit& unit) { return unit.isFlat() && unit.states.size() > 1; });
        return own.states.size() > 1 || other == m_source.units.end() ? own : *other;
    }

    [[nodiscard]] Result<WithOptions> refuseMissing() const
    {
        std::map<std::string, std::vector<std::string>> keysOf; // by the groups that lack them
        std::string suggestions;
        std::vector<std::string> configured;
        for (const auto& [key, groups] : m_missing) {
            std::vector<std::string> numbers;
            for (const uint32_t g : groups)
                numbers.push_back(std::to_string(g));
            keysOf[(groups.size() == 1 ? "param group " : "param groups ") + listText(numbers)].push_back(
                "`" + key + "`");
            suggestions += " --optimizer-option " + key + "=…";
            if (const NodeId value = lookup(m_model, m_config, key); value != kNoNode)
                configured.push_back("`" + key + "` " + nodeText(m_model, value));
        }
        std::vector<std::string> parts;
        for (const auto& [groups, keys] : keysOf)
            parts.push_back(listText(keys) + " of " + groups);
        return fail(ErrorCode::Refused,
            "elastic_checkpoint saves no options of the optimizer"
                + (m_optimizer.empty() ? std::string(" (and its states do not show it either)")
                                       : " (" + std::string(m_optimizer) + ", as its states show)")
                + ", and a run that loads the result needs them; unknown are " + listText(parts),
            m_source.tagFolder.string(),
            "name them as the run has them:" + suggestions
                + " (for one group alone: --optimizer-option 0:KEY=VALUE)"
                + (configured.empty()
                        ? ""
                        : "; for what sets none of its own, ds_config has " + listText(configured)));
    }

    /// The rigid form (torch.optim.Optimizer.state_dict) of what is there, with the options.
    [[nodiscard]] CheckpointPtr rewritten(const std::vector<NodeId>& options)
    {
        const NodeId base = optimStates(m_source).baseState;
        const NodeId states = m_builder.dict();
        for (const FlatUnit& unit : m_source.units) {
            if (unit.isFlat() && !mappingItems(m_graph, unit.stateNode).empty())
                m_builder.setItem(states,
                    m_builder.integer(unit.subgroup.value_or(static_cast<uint32_t>(unit.group))),
                    m_importer.import(unit.stateNode));
        }
        const NodeId rigid = m_builder.dict();
        m_builder.setItem(rigid, m_builder.string("state"), states);
        m_builder.setItem(rigid, m_builder.string("param_groups"), m_builder.list(options));

        const NodeId wrapper = m_builder.dict();
        const auto items = mappingItems(m_graph, m_source.optimWrapper);
        const bool zero3 = partitionsParameters(m_source.kind);
        for (size_t i = 0; i + 1 < items.size(); i += 2) {
            const auto key = asString(m_graph, items[i]);
            const bool left = zero3 && (key == "optimizer_state_dict" || key == "param_groups");
            if (left || key == "base_optimizer_state_step")
                continue;
            const bool isBase = items[i + 1] == base;
            m_builder.setItem(wrapper,
                isBase && zero3 ? m_builder.string("optimizer_state_dict") : m_importer.import(items[i]),
                isBase ? rigid : m_importer.import(items[i + 1]));
        }
        m_importer.substitute(m_source.optimWrapper, wrapper);

        auto out = std::make_shared<Checkpoint>(m_source);
        out->optimWrapper = wrapper;
        for (size_t g = 0; g < options.size(); ++g)
            out->groups[g].options = options[g];
        for (FlatUnit& unit : out->units) {
            if (unit.stateNode != kNoNode)
                unit.stateNode = m_importer.import(unit.stateNode);
        }
        const NodeId root = m_importer.import(m_graph.root());
        out->files[index(out->templateOptim)].content
            = TorchFile::withPickle(*m_optim, m_builder.finish(root));
        return out;
    }

    [[nodiscard]] std::vector<Finding> notes() const
    {
        const auto keysOf = [&](Origin origin) {
            std::vector<std::string> keys;
            if (const auto found = m_origins.find(origin); found != m_origins.end()) {
                for (const std::string& key : found->second)
                    keys.push_back("`" + key + "`");
            }
            return listText(keys);
        };
        std::string text = "the source saves no options of its param groups (elastic_checkpoint)";
        for (const auto& [origin, words] :
            {std::pair(Origin::Named, "as named"), std::pair(Origin::Scheduler, "from its scheduler"),
                std::pair(Origin::Configuration, "from its ds_config"),
                std::pair(Origin::States, "as its states show")}) {
            if (const std::string keys = keysOf(origin); !keys.empty())
                text += "; " + keys + " " + words;
        }
        std::vector<Finding> out{{code::kOptionMissing, Severity::Info,
            text + "; the optimizer sets its own defaults when it loads", {}, {}}};
        if (m_optimizer.empty())
            out.push_back({code::kOptionMissing, Severity::Warning,
                "this build does not know an optimizer with these states: the param groups get only the "
                "options that were named",
                {}, {}});
        return out;
    }

    const Checkpoint& m_source;
    std::shared_ptr<const TorchFile> m_optim;
    const PickleGraph& m_graph;
    ModelStates m_modelStates;
    const PickleGraph& m_model;
    PickleBuilder m_builder;
    PickleImporter m_importer;
    PickleImporter m_modelImporter;
    NodeId m_config;
    NodeId m_step;
    SchedulerState m_scheduler;
    NodeId m_options = kNoNode; ///< of the group that is being made
    std::set<std::string, std::less<>> m_known; ///< its keys
    std::string_view m_optimizer;
    std::map<Origin, std::set<std::string>> m_origins;
    std::map<std::string, std::vector<uint32_t>> m_missing;
};

Result<std::vector<NamedOption>> parsed(const std::vector<std::string>& named, size_t groups)
{
    std::vector<NamedOption> out;
    for (const std::string& text : named) {
        SHARDSCOPE_TRY(NamedOption option, parseNamedOption(text));
        if (option.group && *option.group >= groups)
            return fail(ErrorCode::Usage,
                "optimizer option `" + text + "`: the checkpoint has " + std::to_string(groups)
                    + (groups == 1 ? " param group" : " param groups") + ", counted from 0");
        out.push_back(std::move(option));
    }
    return out;
}

} // namespace

namespace {

/// Whether the states are a list, in place of torch's mapping.
bool isElastic(const Checkpoint& source)
{
    if (!source.isReadable(source.templateOptim) || source.optimWrapper == kNoNode)
        return false;
    const OptimStates optim = optimStates(source);
    return (isZero12(source.kind) || partitionsParameters(source.kind))
        && optim.graph->kind(optim.baseState) == NodeKind::List;
}

} // namespace

std::string listText(const std::vector<std::string>& items)
{
    std::string out;
    for (size_t i = 0; i < items.size(); ++i)
        out += (i == 0 ? "" : i + 1 == items.size() ? " and " : ", ") + items[i];
    return out;
}

bool recordsOptions(const Checkpoint& source)
{
    return std::none_of(source.groups.begin(), source.groups.end(),
        [](const ParamGroup& group) { return group.options == kNoNode; });
}

bool lacksElasticOptions(const Checkpoint& source)
{
    return isElastic(source) && !recordsOptions(source);
}

Result<WithOptions> withOptions(CheckpointPtr source, const std::vector<std::string>& named)
{
    SHARDSCOPE_TRY(const auto options, parsed(named, source->groups.size()));
    if (!lacksElasticOptions(*source)) {
        if (!named.empty())
            return fail(ErrorCode::Usage,
                "the source records the options of its param groups, and they are copied unchanged",
                source->tagFolder.string(),
                Hint::omit("--optimizer-option")
                    + ": it is for elastic checkpoints, which do not record options");
        if (isElastic(*source))
            return OptionsOf(*source).carried();
        return WithOptions{std::move(source), {}};
    }
    if (!source->parts.empty())
        return fail(ErrorCode::Unsupported,
            "this build does not rewrite elastic checkpoints of tensor or pipeline parallel runs",
            source->tagFolder.string(), "save once with elastic_checkpoint off");
    return OptionsOf(*source).run(options);
}

} // namespace shardscope
