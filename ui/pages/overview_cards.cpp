// SPDX-License-Identifier: Apache-2.0
#include "ui/pages/overview_cards.h"

#include "core/checkpoint/model/scalar_text.h"
#include "core/layout/counts.h"
#include "core/torchfile/pickle/pickle_values.h"
#include "ui/models/whole_groups.h"
#include "ui/text/text.h"
#include "ui/widgets/card.h"
#include "ui/widgets/stacked_bar.h"

#include <QLabel>
#include <QLocale>

#include <map>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

QString numberText(double value)
{
    return QLocale::c().toString(value, 'g', 12);
}

/// A value as people write it: the shortest number that reads back the same, sequences of them in
/// parentheses.
QString optionText(const PickleGraph& graph, NodeId node)
{
    const auto number = [&](NodeId part) -> std::optional<QString> {
        if (graph.kind(part) == NodeKind::Float)
            return QString::number(graph.real(part), 'g', QLocale::FloatingPointShortest);
        if (graph.kind(part) == NodeKind::Int)
            return QString::number(graph.integer(part));
        return {};
    };
    if (const auto text = number(node))
        return *text;
    const std::span<const NodeId> items = sequenceItems(graph, node);
    QStringList parts;
    for (const NodeId item : items.first(std::min<size_t>(items.size(), 8)))
        if (const auto text = number(item))
            parts.append(*text);
    if (!parts.isEmpty() && parts.size() == static_cast<qsizetype>(items.size()))
        return u'(' % parts.join(u", "_s) % u')';
    return toText(scalarText(graph, node));
}

/// "lr 0.001 · weight_decay 0.1 · …": the options of a param group, without its list of parameters.
QString optionsText(const Checkpoint& checkpoint, const ParamGroup& group)
{
    if (group.options == kNoNode || checkpoint.templateOptim == kNoFile)
        return {};
    const auto& content = checkpoint.file(checkpoint.templateOptim).content;
    if (!content || !isMapping(content->pickle(), group.options))
        return {};
    const PickleGraph& graph = content->pickle();
    const std::span<const NodeId> pairs = mappingItems(graph, group.options);
    QStringList options;
    for (size_t i = 0; i + 1 < pairs.size() && options.size() < 24; i += 2) {
        if (graph.kind(pairs[i]) != NodeKind::String || graph.text(pairs[i]) == "params")
            continue;
        QString value = optionText(graph, pairs[i + 1]);
        if (value == "null"_L1 || value == "false"_L1)
            continue;
        if (value.size() > 60)
            value = value.left(57) % u"…"_s;
        // No-break spaces: a line may end after a dot, never between a name and its value.
        options.append(toText(graph.text(pairs[i])) % u'\u00A0' % value.replace(u' ', u'\u00A0'));
    }
    return options.join(u"\u00A0· "_s);
}

} // namespace

void fillIdentity(Card& card, const Checkpoint& checkpoint)
{
    card.addHeadline(titleText(checkpoint));
    if (!checkpoint.tag.empty())
        card.addFact(u"Tag"_s,
            checkpoint.latest && *checkpoint.latest == checkpoint.tag
                ? u"%1 (latest)"_s.arg(toText(checkpoint.tag))
                : toText(checkpoint.tag));
    QStringList states;
    for (const std::string& state : checkpoint.stateNames())
        states += toText(state);
    if (!states.isEmpty())
        card.addFact(u"States"_s, states.join(u", "_s));
    if (checkpoint.parallel.tp > 1 || checkpoint.parallel.pp > 1 || checkpoint.parallel.ep > 1)
        card.addFact(u"Parallel"_s,
            u"dp %1 · tp %2 · pp %3 · ep %4"_s.arg(checkpoint.parallel.dp)
                .arg(checkpoint.parallel.tp)
                .arg(checkpoint.parallel.pp)
                .arg(checkpoint.parallel.ep));
    if (checkpoint.subGroupSize)
        card.addFact(u"Sub-group"_s, u"%1 elements per rank"_s.arg(countText(*checkpoint.subGroupSize)));
    if (!checkpoint.deepspeedVersion.empty())
        card.addFact(u"DeepSpeed"_s, toText(checkpoint.deepspeedVersion));
    if (!checkpoint.wrapper.empty())
        card.addFact(u"Wrapped by"_s, toText(checkpoint.wrapper));
    card.addFact(u"Folder"_s, pathText(checkpoint.tagFolder));
    if (!checkpoint.supported)
        card.addText(isSwapKind(checkpoint.kind)
                ? u"Only a checkpoint of the run records what these files contain. Open that "
                  "checkpoint and add this folder to it. If the run continued after its last "
                  "save, choose that checkpoint here: File, Open with a Checkpoint of Its Run."_s
                : u"Recognised, not supported. %1"_s.arg(sentenceText(checkpoint.whyNot)));
}

void fillSizes(Card& card, const Checkpoint& checkpoint, Theme& theme)
{
    std::map<FileRole, FileCounts> byRole;
    for (const CheckpointFile& file : checkpoint.files)
        byRole[file.role].add(file);
    const auto [count, total] = countFiles(checkpoint);
    card.addHeadline(bytesText(total))->setToolTip(exactBytesText(total));
    QList<StackedBar::Part> parts;
    for (const auto& [role, files] : byRole)
        if (files.bytes > 0)
            parts.append({roleText(role), files.bytes, static_cast<size_t>(parts.size())});
    auto* bar = new StackedBar(theme, &card);
    bar->setObjectName(u"roleSizes"_s);
    bar->setParts(std::move(parts));
    card.addWidget(bar);
    card.addText(filesText(count), true)->setObjectName(u"fileCount"_s);
}

void fillStateSizes(Card& card, const Checkpoint& checkpoint, Theme& theme)
{
    std::map<std::string, uint64_t> byState;
    for (const FlatUnit& unit : checkpoint.units)
        for (const UnitState& state : unit.states)
            byState[state.name] += itemSize(state.dtype) * unit.partition.payloadElements();
    for (const WholeTensor& whole : checkpoint.whole)
        if (whole.param != kNoParam && checkpoint.params[index(whole.param)].sharedWith == kNoParam)
            byState[whole.state] += itemSize(whole.dtype) * checkpoint.params[index(whole.param)].elements;
    uint64_t padding = 0;
    for (const FlatUnit& unit : checkpoint.units)
        padding += paddingElements(unit.partition);
    QList<StackedBar::Part> parts;
    for (const std::string& name : checkpoint.stateNames())
        if (const auto found = byState.find(name); found != byState.end() && found->second > 0)
            parts.append({toText(name), found->second, static_cast<size_t>(parts.size())});
    auto* bar = new StackedBar(theme, &card);
    bar->setObjectName(u"stateSizes"_s);
    bar->setParts(std::move(parts));
    card.addWidget(bar);
    card.addText(padding == 0 ? u"There is no padding."_s
            : padding == 1
            ? u"Padding is not counted: 1 element on all ranks together."_s
            : u"Padding is not counted: %1 elements on all ranks together."_s.arg(countText(padding)),
        true);
}

void fillParameters(Card& card, const Checkpoint& checkpoint)
{
    const ParameterCounts counts = countParameters(checkpoint);
    const auto elements = [](uint64_t count, bool isShort) {
        return u"%1 elements"_s.arg(isShort ? shortCountText(count) : countText(count));
    };
    card.addHeadline(elements(counts.elements, true))->setToolTip(elements(counts.elements, false));
    card.addFact(u"Trainable"_s, countText(counts.trainable));
    card.addFact(u"Frozen"_s,
        counts.frozen == 0
            ? u"0"_s
            : u"%1 (%2)"_s.arg(countText(counts.frozen), elements(counts.frozenElements, true)),
        elements(counts.frozenElements, false));
    card.addFact(u"Shared"_s, countText(counts.shared));
    card.addFact(u"Buffers"_s, countText(counts.buffers));
    if (checkpoint.parallel.tp > 1)
        card.addText(u"Each of %1 tensor slices counts."_s.arg(checkpoint.parallel.tp), true);
}

void fillSteps(Card& card, const Checkpoint& checkpoint)
{
    const StepCounters& steps = checkpoint.steps;
    const auto text = [](const std::optional<int64_t>& value) {
        return value ? countText(static_cast<uint64_t>(std::max<int64_t>(0, *value))) : u"–"_s;
    };
    card.addHeadline(steps.globalSteps ? u"Step %1"_s.arg(text(steps.globalSteps)) : u"Step not recorded"_s);
    if (steps.globalSamples)
        card.addFact(u"Samples"_s, text(steps.globalSamples));
    if (steps.skippedSteps)
        card.addFact(u"Skipped"_s, text(steps.skippedSteps));
    QStringList own;
    for (const auto& step : optimizerSteps(checkpoint))
        if (const QString number = step ? numberText(*step) : QString(); step && !own.contains(number))
            own.append(number);
    if (!own.isEmpty())
        card.addFact(u"Optimizer"_s,
            own.size() > 8 ? own.mid(0, 8).join(u", "_s) % u", …"_s : own.join(u", "_s),
            u"The optimizer's own step, once where all param groups have the same"_s);
    // Without fp16 there is none, and DeepSpeed writes 1.
    if (checkpoint.lossScale && (checkpoint.precision == "fp16" || *checkpoint.lossScale != 1))
        card.addFact(u"Loss scale"_s, numberText(*checkpoint.lossScale));
    if (!checkpoint.clientStateKeys.empty()) {
        QStringList keys;
        for (const std::string& key : checkpoint.clientStateKeys)
            keys.append(toText(key));
        card.addFact(
            u"Client state"_s, keys.mid(0, 12).join(u", "_s) % (keys.size() > 12 ? u", …"_s : QString()));
    }
}

void fillGroups(Card& card, const Checkpoint& checkpoint)
{
    constexpr size_t kMaxGroups = 12;
    for (size_t i = 0; i < checkpoint.groups.size() && i < kMaxGroups; ++i) {
        const ParamGroup& group = checkpoint.groups[i];
        QString units;
        if (const size_t subGroups = subGroupsOf(checkpoint, group); subGroups > 1)
            units = u" · "_s % u"%1 sub-groups"_s.arg(subGroups);
        card.addText(u"Group %1"_s.arg(group.index) % u" · "_s % parametersText(group.parameters) % u" · "_s
            % u"%1 elements"_s.arg(shortCountText(group.elements)) % units);
        const QString options = optionsText(checkpoint, group);
        if (!options.isEmpty())
            card.addText(options, true);
    }
    if (checkpoint.groups.size() > kMaxGroups)
        card.addText(u"and %1 more"_s.arg(checkpoint.groups.size() - kMaxGroups), true);
    if (checkpoint.groups.empty())
        card.addText(u"No param groups are known."_s, true);
}

void fillEvidence(Card& card, const Checkpoint& checkpoint)
{
    for (const std::string& line : checkpoint.evidence)
        card.addText(factText(line), true);
    card.addText(u"Files are only read. Code that a pickle names is never run."_s, true);
}

} // namespace shardscope::ui
