// SPDX-License-Identifier: Apache-2.0
#include "ui/dialogs/export_form.h"

#include "core/base/text.h"
#include "ui/text/text.h"
#include "ui/widgets/focus_order.h"
#include "ui/widgets/path_field.h"

#include <QAction>
#include <QComboBox>
#include <QFormLayout>
#include <QLineEdit>
#include <QMenu>
#include <QRegularExpression>
#include <QString>
#include <QToolButton>
#include <optional>
#include <string>
#include <vector>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

/// Open brackets and quotation marks of JSON.
class Nesting
{
public:
    void take(QChar character)
    {
        if (m_quoted) {
            m_quoted = m_escaped || character != u'"';
            m_escaped = !m_escaped && character == u'\\';
            return;
        }
        m_quoted = character == u'"';
        if (character == u'[' || character == u'{')
            ++m_depth;
        else if (character == u']' || character == u'}')
            --m_depth;
    }
    [[nodiscard]] bool isOpen() const { return m_quoted || m_depth > 0; }

private:
    int m_depth = 0;
    bool m_quoted = false;
    bool m_escaped = false;
};

/// KEY=VALUE entries with spaces between them. A value is JSON or plain text and may hold spaces, too: a
/// space ends it only if another entry begins after it, outside quotation marks and brackets. Empty result if
/// the text is not empty and does not begin with an entry.
std::optional<std::vector<std::string>> configEntries(const QString& text)
{
    static const QRegularExpression kBegin(u"\\G[A-Za-z_][A-Za-z0-9_]*="_s);
    const QString all = text.trimmed();
    std::vector<qsizetype> begins;
    Nesting nesting;
    for (qsizetype i = 0; i < all.size(); ++i) {
        const bool first = i == 0 || all[i - 1].isSpace();
        if (first && !nesting.isOpen() && kBegin.match(all, i).hasMatch()) {
            begins.push_back(i);
            nesting = {};
        }
        nesting.take(all[i]);
    }
    if (!all.isEmpty() && (begins.empty() || begins.front() != 0))
        return {};
    std::vector<std::string> out;
    for (size_t i = 0; i < begins.size(); ++i) {
        const qsizetype end = i + 1 < begins.size() ? begins[i + 1] : all.size();
        out.push_back(all.mid(begins[i], end - begins[i]).trimmed().toStdString());
    }
    return out;
}

/// Formats that are split into files of a given size.
bool isSharded(ExportFormat format)
{
    return traitsOf(format).layout == ExportLayout::Shards;
}

} // namespace

ExportForm::ExportForm(const CheckpointPtr& source, const QString& lastTarget, QWidget* parent)
    : PlanForm(u"export"_s, source, lastTarget, parent)
    , m_format(new QComboBox(this))
    , m_dtype(new QComboBox(this))
    , m_states(new QToolButton(this))
    , m_stateMenu(new QMenu(this))
    , m_shardSize(makeField(u"exportShardSize"_s, tr("5 GB, as in transformers"),
          tr("Maximum bytes of tensors in one file, such as 2G; a larger tensor gets its own file"), this))
    , m_only(makeField(u"exportOnly"_s, tr("all"),
          tr("Name patterns, such as model.layers.0.*; separate several with spaces"), this))
    , m_strip(
          makeField(u"exportStrip"_s, tr("none"), tr("Prefix to remove from names, such as “module.”"), this))
    , m_renames(makeField(u"exportRename"_s, tr("model.norm=norm"),
          tr("OLD=NEW: renames OLD and every name that begins with “OLD.”; separate several with spaces"),
          this))
    , m_adapterOptions(makeField(u"exportAdapterOptions"_s, {}, {}, this))
    , m_patterns(makePatternsField(u"export"_s, this))
{
    m_format->setObjectName(u"exportFormat"_s);
    m_dtype->setObjectName(u"exportDtype"_s);
    setCompact(m_format); // the form is as narrow as its dialog
    setCompact(m_dtype);
    m_states->setObjectName(u"exportStates"_s);
    m_states->setPopupMode(QToolButton::InstantPopup);
    m_states->setMenu(m_stateMenu);
    m_patterns->line()->setToolTip(tr("File of patterns for merging tensor slices"));
    m_patterns->line()->setAccessibleDescription(m_patterns->line()->toolTip());
    setAdapterIsConfigured(false);
    fillChoices();
    addRows();
    onFormatChosen();
    connectFields();
    handFocusTo(this, m_format);
    m_format->setFocus();
}

void ExportForm::fillChoices()
{
    for (const ExportFormatTraits& traits : kExportFormats)
        m_format->addItem(
            u"%1: %2"_s.arg(toText(traits.name), toText(traits.note)), static_cast<int>(traits.format));
    m_dtype->addItem(tr("keep: the model's own"), QByteArray());
    for (const std::string& name : castNames())
        m_dtype->addItem(toText(name), QByteArray::fromStdString(name));
    for (const std::string& state : m_source->stateNames()) {
        if (state == "weight")
            continue; // always exported
        QAction* action = m_stateMenu->addAction(toText(state));
        action->setData(QByteArray::fromStdString(state));
        action->setCheckable(true);
        connect(action, &QAction::toggled, this, [this] {
            showStates();
            Q_EMIT changed();
        });
    }
    m_states->setEnabled(!m_stateMenu->isEmpty());
    m_states->setToolTip(tr("Written next to the weights, unchanged, each in its own files"));
    showStates();
}

void ExportForm::addRows()
{
    m_rows->addRow(tr("&Format"), m_format);
    m_rows->addRow(tr("&Dtype"), m_dtype);
    m_rows->addRow(tr("&States"), m_states);
    m_rows->addRow(tr("Si&ze of a file"), m_shardSize);
    m_rows->addRow(tr("&Adapter"), m_adapterOptions);
    m_rows->addRow(tr("&Only"), m_only);
    m_rows->addRow(tr("Strip &prefix"), m_strip);
    m_rows->addRow(tr("&Rename"), m_renames);
    m_rows->addRow(tr("Patter&ns"), m_patterns);
    QLineEdit* target = addTarget(tr("Tar&get"));
    target->setToolTip(tr("A new or empty folder"));
    target->setAccessibleDescription(target->toolTip());
    addVerify();
    addForce();
    m_rows->setRowVisible(m_patterns, mergesSlices());
}

void ExportForm::connectFields()
{
    connect(m_format, &QComboBox::currentIndexChanged, this, [this] {
        onFormatChosen();
        Q_EMIT changed();
    });
    connect(m_dtype, &QComboBox::currentIndexChanged, this, &ExportForm::changed);
    for (QLineEdit* field : {m_shardSize, m_adapterOptions, m_only, m_strip, m_renames, m_patterns->line()})
        connect(field, &QLineEdit::textChanged, this, &ExportForm::changed);
}

ExportFormat ExportForm::format() const
{
    return static_cast<ExportFormat>(m_format->currentData().toInt());
}

/// Shows only the rows of the selected format.
void ExportForm::onFormatChosen()
{
    // A distributed checkpoint holds the whole training state as it is.
    const bool chooses = format() != ExportFormat::Dcp;
    for (QWidget* row : std::initializer_list<QWidget*>{m_dtype, m_states, m_only, m_strip, m_renames})
        m_rows->setRowVisible(row, chooses);
    m_rows->setRowVisible(m_shardSize, isSharded(format()));
    m_rows->setRowVisible(m_adapterOptions, format() == ExportFormat::Adapter);
    suggestTarget(u'-' % toText(exportFormatName(format())));
}

void ExportForm::setAdapterIsConfigured(bool configured)
{
    const QString why = tr("adapter_config.json is next to the checkpoint and is copied");
    const QString tip = configured
        ? why
        : tr("Entries of adapter_config.json as KEY=VALUE, separated by spaces; lora_alpha is recorded "
             "nowhere else");
    m_adapterOptions->setEnabled(!configured);
    m_adapterOptions->setPlaceholderText(configured ? why : u"lora_alpha=16"_s);
    m_adapterOptions->setToolTip(tip);
    m_adapterOptions->setAccessibleDescription(tip);
}

bool ExportForm::mergesSlices() const
{
    return m_source->parallel.tp > 1 || m_source->parallel.pp > 1;
}

void ExportForm::showStates()
{
    QStringList chosen;
    for (const QAction* action : m_stateMenu->actions()) {
        if (action->isChecked())
            chosen.append(action->text());
    }
    m_states->setText(chosen.isEmpty() ? tr("weights only") : tr("weights and %1").arg(chosen.join(u", "_s)));
}

bool ExportForm::readRenames(ExportOptions& options) const
{
    for (const QString& word : m_renames->text().split(u' ', Qt::SkipEmptyParts)) {
        const qsizetype equals = word.indexOf(u'=');
        if (equals <= 0 || equals + 1 == word.size())
            return false;
        options.renames.emplace_back(word.left(equals).toStdString(), word.mid(equals + 1).toStdString());
    }
    return true;
}

QString ExportForm::problem() const
{
    ExportOptions options;
    if (format() == ExportFormat::Dcp)
        return {};
    if (!readRenames(options))
        return tr("A renaming is OLD=NEW, such as model.norm=norm.");
    if (format() == ExportFormat::Adapter && m_adapterOptions->isEnabled()
        && !configEntries(m_adapterOptions->text()))
        return tr("An entry of the adapter's configuration is KEY=VALUE, such as lora_alpha=16.");
    const QString size = m_shardSize->text().trimmed();
    if (!size.isEmpty() && isSharded(format()) && parseBytes(size.toStdString()).value_or(0) == 0)
        return tr("The size of a file is not valid. Enter a size such as 2G or 500M.");
    return {};
}

std::optional<ExportWish> ExportForm::wish() const
{
    ExportWish wish;
    ExportOptions& options = wish.options;
    if (!problem().isEmpty() || !readRenames(options))
        return {};
    options.format = format();
    if (mergesSlices())
        wish.patternsFile = toPath(m_patterns->path());
    readInto(wish);
    if (format() == ExportFormat::Dcp)
        return wish;
    options.dtype = castFromName(m_dtype->currentData().toByteArray().toStdString());
    const QString size = m_shardSize->text().trimmed();
    if (!size.isEmpty() && isSharded(format()))
        options.shardBytes = *parseBytes(size.toStdString());
    for (const QString& pattern : m_only->text().split(u' ', Qt::SkipEmptyParts))
        options.only.push_back(pattern.toStdString());
    options.stripPrefix = m_strip->text().trimmed().toStdString();
    for (const QAction* action : m_stateMenu->actions()) {
        if (action->isChecked())
            options.states.push_back(action->data().toByteArray().toStdString());
    }
    if (format() == ExportFormat::Adapter && m_adapterOptions->isEnabled())
        options.adapterOptions = *configEntries(m_adapterOptions->text());
    return wish;
}

} // namespace shardscope::ui
