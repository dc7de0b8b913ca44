// SPDX-License-Identifier: Apache-2.0
#include "ui/pages/overview_cards.h"

#include "core/checkpoint/model/scalar_text.h"
#include "core/layout/counts.h"
#include "core/torchfile/pickle/pickle_values.h"
#include "ui/models/whole_groups.h"
#include "ui/text/role_text.h"
#include "ui/text/text.h"
#include "ui/widgets/card.h"
#include "ui/widgets/link_button.h"
#include "ui/widgets/stacked_bar.h"

#include <QDateTime>
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

constexpr int kShortDigits = 6; ///< the rest is in the tool tip

void onClick(LinkButton* link, const std::function<void()>& go)
{
    QObject::connect(link, &QAbstractButton::clicked, link, go);
}

/// A value as people write it: numbers with so many digits (QLocale::FloatingPointShortest: as many as read
/// back the same), sequences of them in parentheses.
QString optionText(const PickleGraph& graph, NodeId node, int digits)
{
    const auto number = [&](NodeId part) -> std::optional<QString> {
        if (graph.kind(part) == NodeKind::Float)
            return QString::number(graph.real(part), 'g', digits);
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
QString optionsText(const Checkpoint& checkpoint, const ParamGroup& group, int digits)
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
        QString value = optionText(graph, pairs[i + 1], digits);
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

void fillIdentity(Card& card, const Checkpoint& checkpoint, const MapLooks& looks, const OverviewLinks& links)
{
    const auto toMap = [links] { links.page(PageId::Map, {}); };
    if (checkpoint.params.empty())
        card.addHeadline(titleText(checkpoint));
    else
        onClick(card.addHeadlineLink(titleText(checkpoint)), toMap);
    if (!checkpoint.tag.empty())
        onClick(card.addFactLink(u"Tag"_s,
                    checkpoint.latest && *checkpoint.latest == checkpoint.tag
                        ? u"%1 (latest)"_s.arg(toText(checkpoint.tag))
                        : toText(checkpoint.tag)),
            links.tags);
    QStringList states;
    for (const std::string& state : looks.states)
        states += toText(state);
    if (!states.isEmpty())
        for (LinkButton* link : card.addFactLinks(u"States"_s, states))
            onClick(
                link, [links, state = link->text()] { links.page(PageId::Parameters, u"state:"_s % state); });
    if (checkpoint.parallel.tp > 1 || checkpoint.parallel.pp > 1 || checkpoint.parallel.ep > 1)
        onClick(card.addFactLink(u"Parallel"_s,
                    u"dp %1 · tp %2 · pp %3 · ep %4"_s.arg(checkpoint.parallel.dp)
                        .arg(checkpoint.parallel.tp)
                        .arg(checkpoint.parallel.pp)
                        .arg(checkpoint.parallel.ep)),
            toMap);
    if (checkpoint.subGroupSize)
        onClick(card.addFactLink(
                    u"Sub-group"_s, u"%1 elements per rank"_s.arg(countText(*checkpoint.subGroupSize))),
            toMap);
    onClick(card.addFactLink(u"Folder"_s, pathText(checkpoint.tagFolder)),
        [links] { links.page(PageId::Files, {}); });
    if (!checkpoint.supported)
        card.addText(isSwapKind(checkpoint.kind)
                ? u"Only a checkpoint of the run records what these files contain. Open that "
                  "checkpoint and add this folder to it. If the run continued after its last "
                  "save, choose that checkpoint here: File, Open with a Checkpoint of Its Run."_s
                : u"Recognised, not supported."_s);
}

void fillSizes(Card& card, const Checkpoint& checkpoint, Theme& theme, const OverviewLinks& links)
{
    std::map<FileRole, FileCounts> byRole;
    for (const CheckpointFile& file : checkpoint.files)
        byRole[file.role].add(file);
    const auto [count, total] = countFiles(checkpoint);
    const auto toFiles = [links] { links.page(PageId::Files, {}); };
    LinkButton* size = card.addHeadlineLink(bytesText(total));
    size->setToolTip(exactBytesText(total));
    size->setExactText(exactBytesText(total));
    onClick(size, toFiles);
    QList<StackedBar::Part> parts;
    for (const auto& [role, files] : byRole)
        if (files.bytes > 0)
            parts.append({fileRoleText(checkpoint, role), files.bytes, static_cast<size_t>(parts.size())});
    auto* bar = new StackedBar(theme, &card);
    bar->setObjectName(u"roleSizes"_s);
    QObject::connect(bar, &StackedBar::activated, bar, [links, parts](int part) {
        links.page(PageId::Files, u"role:"_s % parts[part].name.section(u' ', 0, 0).toLower());
    });
    bar->setParts(std::move(parts));
    card.addWidget(bar);
    LinkButton* number = card.addTextLink(filesText(count));
    number->setObjectName(u"fileCount"_s);
    onClick(number, toFiles);
}

void fillStateSizes(Card& card, const MapLooks& looks, Theme& theme, const OverviewLinks& links)
{
    QList<StackedBar::Part> parts;
    for (size_t i = 0; i < looks.states.size(); ++i)
        if (looks.stateBytes[i] > 0)
            parts.append({toText(looks.states[i]), looks.stateBytes[i], static_cast<size_t>(parts.size())});
    auto* bar = new StackedBar(theme, &card);
    bar->setObjectName(u"stateSizes"_s);
    QObject::connect(bar, &StackedBar::activated, bar,
        [links, parts](int part) { links.page(PageId::Parameters, u"state:"_s % parts[part].name); });
    bar->setParts(std::move(parts));
    card.addWidget(bar);
    if (looks.lostBytes > 0) {
        LinkButton* link = card.addTextLink(u"%1 more is missing."_s.arg(bytesText(looks.lostBytes)));
        link->setObjectName(u"missingBytes"_s);
        link->setToolTip(exactBytesText(looks.lostBytes));
        onClick(link, [links] { links.page(PageId::Map, {}); });
    }
    if (looks.padding == 0) {
        card.addText(u"There is no padding."_s, true);
        return;
    }
    onClick(card.addTextLink(looks.padding == 1
                    ? u"Padding is not counted: 1 element on all ranks together."_s
                    : u"Padding is not counted: %1 elements on all ranks together."_s.arg(
                        countText(looks.padding))),
        [links] { links.page(PageId::Map, {}); });
}

void fillParameters(
    Card& card, const Checkpoint& checkpoint, const MapLooks& looks, const OverviewLinks& links)
{
    const ParameterCounts& counts = looks.parameters;
    const auto elements = [](uint64_t count, bool isShort) {
        return u"%1 elements"_s.arg(isShort ? shortCountText(count) : countText(count));
    };
    LinkButton* all = card.addHeadlineLink(elements(counts.elements, true));
    all->setToolTip(elements(counts.elements, false));
    all->setExactText(elements(counts.elements, false));
    onClick(all, [links] { links.page(PageId::Parameters, {}); });
    const auto add = [&](const QString& name, uint64_t count, const QString& filter,
                         const QString& value = {}, const QString& exact = {}) {
        const QString text = value.isEmpty() ? countText(count) : value;
        if (count == 0) {
            card.addFact(name, text); // there is nothing to show
            return;
        }
        onClick(
            card.addFactLink(name, text, exact), [links, filter] { links.page(PageId::Parameters, filter); });
    };
    if (hasWeightsAlone(checkpoint)) {
        add(u"Weights"_s, counts.count, u"buffer:no shared:no"_s);
    } else {
        add(u"Trainable"_s, counts.trainable, u"frozen:no buffer:no shared:no"_s);
        if (counts.unrecorded > 0)
            card.addFact(u"Not in the optimizer"_s, countText(counts.unrecorded));
        else
            add(u"Frozen"_s, counts.frozen, u"frozen:yes shared:no"_s,
                counts.frozen == 0
                    ? QString()
                    : u"%1 (%2)"_s.arg(countText(counts.frozen), elements(counts.frozenElements, true)),
                elements(counts.frozenElements, false));
    }
    add(u"Shared"_s, counts.shared, u"shared:yes"_s);
    add(u"Buffers"_s, counts.buffers, u"buffer:yes"_s);
    if (checkpoint.parallel.tp > 1)
        card.addText(u"Each of %1 tensor slices counts."_s.arg(checkpoint.parallel.tp), true);
}

void fillSteps(Card& card, const Checkpoint& checkpoint, const OverviewLinks& links)
{
    const StepCounters& steps = checkpoint.steps;
    const auto text = [](const std::optional<int64_t>& value) {
        return value ? countText(static_cast<uint64_t>(std::max<int64_t>(0, *value))) : u"–"_s;
    };
    const auto toModel = [links, file = checkpoint.templateModel] { links.file(file); };
    const auto toOptimizer = [links, file = checkpoint.templateOptim] { links.file(file); };
    if (steps.globalSteps)
        onClick(card.addHeadlineLink(u"Step %1"_s.arg(text(steps.globalSteps))), toModel);
    else
        card.addHeadline(u"Step not recorded"_s);
    if (steps.globalSamples)
        onClick(card.addFactLink(u"Samples"_s, text(steps.globalSamples)), toModel);
    if (steps.skippedSteps)
        onClick(card.addFactLink(u"Skipped"_s, text(steps.skippedSteps)), toModel);
    QStringList own;
    for (const auto& step : optimizerSteps(checkpoint))
        if (const QString number = step ? numberText(*step) : QString(); step && !own.contains(number))
            own.append(number);
    if (!own.isEmpty()) {
        LinkButton* link = card.addFactLink(
            u"Optimizer"_s, own.size() > 8 ? own.mid(0, 8).join(u", "_s) % u", …"_s : own.join(u", "_s));
        link->setToolTip(u"The optimizer's own step, once where all param groups have the same"_s);
        onClick(link, toOptimizer);
    }
    // Without fp16 there is none, and DeepSpeed writes 1.
    if (checkpoint.lossScale && (checkpoint.precision == "fp16" || *checkpoint.lossScale != 1))
        onClick(card.addFactLink(u"Loss scale"_s, numberText(*checkpoint.lossScale)), toOptimizer);
    if (!checkpoint.clientStateKeys.empty()) {
        QStringList keys;
        for (const std::string& key : checkpoint.clientStateKeys)
            keys.append(toText(key));
        onClick(card.addFactLink(u"Client state"_s,
                    keys.mid(0, 12).join(u", "_s) % (keys.size() > 12 ? u", …"_s : QString()),
                    keys.join(u", "_s)),
            toModel);
    }
}

void fillGroups(Card& card, const Checkpoint& checkpoint, const OverviewLinks& links)
{
    constexpr size_t kMaxGroups = 12;
    for (size_t i = 0; i < checkpoint.groups.size() && i < kMaxGroups; ++i) {
        const ParamGroup& group = checkpoint.groups[i];
        QString units;
        if (const size_t subGroups = subGroupsOf(checkpoint, group); subGroups > 1)
            units = u" · "_s % u"%1 sub-groups"_s.arg(subGroups);
        onClick(card.addTextLink(u"Group %1"_s.arg(group.index) % u" · "_s % parametersText(group.parameters)
                    % u" · "_s % u"%1 elements"_s.arg(shortCountText(group.elements)) % units),
            [links, number = group.index] {
                links.page(PageId::Parameters, u"group:%1 shared:no"_s.arg(number));
            });
        const QString options = optionsText(checkpoint, group, kShortDigits);
        if (!options.isEmpty())
            card.addText(options, true)
                ->setToolTip(optionsText(checkpoint, group, QLocale::FloatingPointShortest));
    }
    if (checkpoint.groups.size() > kMaxGroups)
        onClick(card.addTextLink(u"and %1 more"_s.arg(checkpoint.groups.size() - kMaxGroups)),
            [links] { links.page(PageId::Parameters, {}); });
    if (checkpoint.groups.empty())
        card.addText(u"No param groups are known."_s, true);
}

void fillProvenance(
    Card& card, const Checkpoint& checkpoint, const Provenance& provenance, const OverviewLinks& links)
{
    for (const ProvenanceFact& fact : provenance.facts) {
        const QString name = toText(fact.name);
        if (fact.file == kNoFile)
            card.addFact(name, toText(fact.value));
        else
            onClick(
                card.addFactLink(name, toText(fact.value)), [links, file = fact.file] { links.file(file); });
    }
    if (checkpoint.steps.globalSteps)
        onClick(card.addFactLink(u"At step"_s,
                    countText(static_cast<uint64_t>(std::max<int64_t>(0, *checkpoint.steps.globalSteps)))),
            [links, file = checkpoint.templateModel] { links.file(file); });
    if (provenance.lastWritten > 0) {
        const QDateTime last = QDateTime::fromSecsSinceEpoch(provenance.lastWritten);
        const int64_t seconds = provenance.lastWritten - provenance.firstWritten;
        const QString spread = seconds == 0
            ? QString()
            : u", all files within %1"_s.arg(durationText(static_cast<double>(seconds)));
        onClick(card.addFactLink(u"Files written"_s, last.toString(u"yyyy-MM-dd HH:mm"_s) % spread,
                    last.toString(Qt::ISODate)),
            [links] { links.file(kNoFile); });
    }
}

void fillFingerprint(Card& card, const QString& fingerprint, const std::function<void()>& go)
{
    const bool isKnown = !fingerprint.isEmpty();
    LinkButton* link = card.addFactLink(u"Fingerprint"_s, isKnown ? fingerprint : u"compute it"_s);
    link->setObjectName(u"fingerprintLink"_s);
    link->setToolTip(isKnown
            ? u"Copy it"_s
            : u"Reads every byte. Equal for the same training state, at any number of GPUs."_s);
    onClick(link, go);
}

void fillEvidence(Card& card, const Checkpoint& checkpoint)
{
    for (const std::string& line : checkpoint.evidence)
        card.addText(factText(line), true);
    card.addText(u"Files are only read. Code that a pickle names is never run."_s, true);
}

} // namespace shardscope::ui
