// SPDX-License-Identifier: Apache-2.0
#include "ui/tensorview/tensor_head.h"

#include "core/layout/address.h"
#include "core/layout/fragments.h"
#include "ui/tensorview/element_places.h"
#include "ui/text/text.h"
#include "ui/widgets/elided_label.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QTabBar>
#include <QVBoxLayout>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr size_t kMaxTied = 3; ///< names that are shown

QString tupleText(const std::vector<uint64_t>& numbers)
{
    return QString::fromStdString(shapeText(Shape(numbers.begin(), numbers.end())));
}

/// In elements, from one position of a dimension to the next, as the elements are stored.
std::vector<uint64_t> stridesOf(const TensorSource& source)
{
    const Checkpoint& checkpoint = *source.checkpoint;
    const WholeTensor* whole = checkpoint.wholeOf(source.param);
    if (whole != nullptr && whole->state == source.state && !whole->contiguous)
        return whole->strides;
    const auto state = findState(checkpoint, source.param, source.state);
    if (state && state->whole == nullptr && source.shape.size() == 2) {
        if (const auto order = checkpoint.transposedOrder(source.param))
            return {1, order->rows};
    }
    std::vector<uint64_t> out(source.shape.size(), 1);
    for (size_t axis = out.size(); axis-- > 1;)
        out[axis - 1] = out[axis] * std::max<uint64_t>(source.shape[axis], 1);
    return out;
}

/// Every other name of the same values.
QStringList tiedNames(const TensorSource& source)
{
    const Checkpoint& checkpoint = *source.checkpoint;
    QStringList names;
    for (size_t i = 0; i < checkpoint.params.size(); ++i) {
        const Parameter& param = checkpoint.params[i];
        if ((i == index(source.param) || param.sharedWith == source.param) && param.name != source.name)
            names.append(toText(param.name));
    }
    return names;
}

} // namespace

QString tensorFacts(const TensorSource& source)
{
    const Checkpoint& checkpoint = *source.checkpoint;
    QStringList facts{toText(dtypeName(source.dtype)), QString::fromStdString(shapeText(source.shape)),
        source.elements == 1 ? u"1 element"_s : u"%1 elements"_s.arg(countText(source.elements)),
        bytesText(source.bytes())};
    const bool isWhole = source.state == "weight" && checkpoint.wholeOf(source.param) != nullptr;
    if (isWhole)
        facts.append(u"whole in %1"_s.arg(checkpoint.wholeOf(source.param)->run.isPresent()
                ? toText(checkpoint.file(checkpoint.wholeOf(source.param)->run.file).name)
                : u"no file"_s));
    else if (const FlatUnit* unit = checkpoint.unitOf(source.param))
        facts.append(u"in %1"_s.arg(heldUnitText(checkpoint, *unit)));
    return facts.join(u" · "_s);
}

QString storageFacts(const TensorSource& source)
{
    const Checkpoint& checkpoint = *source.checkpoint;
    QStringList facts;
    if (!source.shape.empty())
        facts.append(u"strides %1"_s.arg(tupleText(stridesOf(source))));
    const ElementPlaces places(std::make_shared<const TensorSource>(source));
    if (!places.runs().empty())
        facts.append(u"on %1 ranks"_s.arg(countText(places.runs().size())));
    if (source.elements > 0) {
        const auto place = locate(checkpoint,
            ParamAddress{checkpoint.params[index(source.param)].name, source.state,
                std::pair(uint64_t{0}, uint64_t{1})});
        if (place && place->file && !place->file->record.empty())
            facts.append(u"from byte %1 of storage %2 in %3"_s.arg(
                countText(place->file->byte), toText(place->file->record), toText(place->file->path)));
        else if (place && place->file)
            facts.append(u"from byte %1 of %2"_s.arg(countText(place->fileByte), toText(place->file->path)));
    }
    const QStringList tied = tiedNames(source);
    if (!tied.isEmpty()) {
        const auto shown = static_cast<qsizetype>(kMaxTied);
        QString names = tied.mid(0, shown).join(u", "_s);
        if (tied.size() > shown)
            names += u" and %1 more"_s.arg(tied.size() - shown);
        facts.append(u"tied with %1"_s.arg(names));
    }
    return facts.join(u" · "_s);
}

TensorHead::TensorHead(QWidget* parent)
    : QWidget(parent)
    , m_name(new ElidedLabel(this))
    , m_states(new QTabBar(this))
    , m_facts(new QLabel(this))
    , m_storage(new QLabel(this))
    , m_health(new QLabel(this))
    , m_copies(new QLabel(this))
{
    m_name->setObjectName(u"tensorName"_s);
    QFont font = m_name->font();
    font.setPointSizeF(font.pointSizeF() * 1.15);
    font.setBold(true);
    m_name->setFont(font);
    m_states->setObjectName(u"tensorStates"_s);
    m_states->setAccessibleName(tr("States"));
    m_states->setDrawBase(false);
    m_states->setExpanding(false);
    m_facts->setObjectName(u"tensorFacts"_s);
    m_storage->setObjectName(u"tensorStorage"_s);
    m_health->setObjectName(u"tensorHealth"_s);
    m_copies->setObjectName(u"tensorCopies"_s);
    for (QLabel* label : {m_facts, m_storage, m_copies}) {
        label->setForegroundRole(QPalette::PlaceholderText);
        label->setWordWrap(true);
        // The path of a storage is one word: it must not set the minimum width of the window.
        label->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    }
    auto* first = new QHBoxLayout;
    first->setSpacing(12);
    first->addWidget(m_name, 1);
    first->addWidget(m_states, 0, Qt::AlignBottom);
    auto* rows = new QVBoxLayout(this);
    rows->setContentsMargins(12, 8, 12, 6);
    rows->setSpacing(3);
    rows->addLayout(first);
    for (QLabel* label : {m_facts, m_storage, m_health, m_copies}) {
        label->setTextFormat(Qt::PlainText);
        label->setWordWrap(true);
        rows->addWidget(label);
    }
}

std::string TensorHead::state() const
{
    return m_states->tabData(m_states->currentIndex()).toByteArray().toStdString();
}

void TensorHead::setStates(const std::vector<std::string>& states, const std::string& wanted)
{
    const QSignalBlocker blocker(m_states);
    while (m_states->count() > 0)
        m_states->removeTab(0);
    for (const std::string& state : states)
        m_states->setTabData(m_states->addTab(toText(state)), QByteArray::fromStdString(state));
    const auto at = std::find(states.begin(), states.end(), wanted);
    // With them, a bar is never narrower than several tabs, and a single one is not at its edge.
    m_states->setUsesScrollButtons(states.size() > 2);
    m_states->setCurrentIndex(at == states.end() ? 0 : static_cast<int>(at - states.begin()));
    m_states->setVisible(!states.empty());
}

void TensorHead::setSource(const TensorSourcePtr& source)
{
    m_name->setText(source ? toText(source->name) : QString());
    m_facts->setText(source ? tensorFacts(*source) : QString());
    m_facts->setVisible(source != nullptr);
    m_storage->setText(source ? u" "_s : QString()); // keeps its line
    m_storage->setVisible(source != nullptr);
    m_storageReader.cancel();
    if (!source)
        return;
    m_storageReader.run<QString>(
        [source](const std::stop_token&, const std::function<void(QString)>& deliver) {
            deliver(storageFacts(*source));
        },
        [this](const QString& text) { m_storage->setText(text); });
}

void TensorHead::setHealth(const QStringList& words)
{
    m_health->setText(words.isEmpty() ? QString() : QString(u"⚠  "_s % words.join(u" · "_s)));
    m_health->setVisible(!words.isEmpty());
}

void TensorHead::setCopies(const QString& text)
{
    m_copies->setText(text);
    m_copies->setVisible(!text.isEmpty());
}

} // namespace shardscope::ui
