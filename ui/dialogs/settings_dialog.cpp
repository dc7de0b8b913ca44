// SPDX-License-Identifier: Apache-2.0
#include "ui/dialogs/settings_dialog.h"

#include "ui/dialogs/manual_window.h"
#include "ui/style/text_size.h"
#include "ui/widgets/window_fit.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDialogButtonBox>
#include <QEvent>
#include <QFormLayout>
#include <QLabel>
#include <QListWidget>
#include <QPushButton>
#include <QSpinBox>
#include <QVBoxLayout>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr int kMostJobs = 16;

} // namespace

SettingsDialog::SettingsDialog(Settings& settings, QWidget* parent)
    : QDialog(parent)
    , m_settings(settings)
    , m_content(new QWidget(this))
    , m_buttons(new QDialogButtonBox(QDialogButtonBox::Close, this))
    , m_layouts(new QListWidget(this))
{
    setObjectName(u"settingsDialog"_s);
    setWindowTitle(tr("Settings"));
    addManualKey(this, u"getting-started"_s);
    auto* rows = new QFormLayout(m_content);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setVerticalSpacing(10);
    rows->setHorizontalSpacing(14);
    addLook(rows);
    addStart(rows);
    addLayouts(rows);
    connect(m_buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    auto* parts = new QVBoxLayout(this);
    parts->setContentsMargins(20, 18, 20, 14);
    parts->setSpacing(14);
    parts->addWidget(scrolled(m_content, this), 1);
    parts->addWidget(m_buttons);
    fit();
}

/// Of the text size that this dialog changes, too.
void SettingsDialog::fit()
{
    ensurePolished();
    constexpr QSize kLeast(560, 440);
    constexpr int kSpare = 8; // for a rounded size of a text
    const QMargins around = layout()->contentsMargins();
    const QSize need = m_content->sizeHint();
    const int width = need.width() + around.left() + around.right() + kSpare;
    const int height = m_content->heightForWidth(need.width()) > 0
        ? std::max(need.height(), m_content->heightForWidth(need.width()))
        : need.height();
    resizeWithinScreen(this,
        QSize(width,
            height + m_buttons->sizeHint().height() + layout()->spacing() + around.top() + around.bottom()
                + kSpare)
            .expandedTo(kLeast));
}

void SettingsDialog::changeEvent(QEvent* event)
{
    QDialog::changeEvent(event);
    if (event->type() == QEvent::FontChange)
        QMetaObject::invokeMethod(this, &SettingsDialog::fit, Qt::QueuedConnection); // after its widgets
}

void SettingsDialog::addLook(QFormLayout* rows)
{
    auto* theme = new QComboBox(this);
    theme->setObjectName(u"settingsTheme"_s);
    theme->addItems({tr("Like the desktop"), tr("Light"), tr("Dark"), tr("High contrast")}); // by ThemeMode
    theme->setCurrentIndex(static_cast<int>(m_settings.themeMode()));
    connect(theme, &QComboBox::activated, this,
        [this](int mode) { Q_EMIT themeChosen(static_cast<ThemeMode>(mode)); });
    rows->addRow(tr("&Theme"), theme);
    auto* size = new QComboBox(this);
    size->setObjectName(u"settingsTextSize"_s);
    int percent = nextTextSize(0, 0);
    for (int last = 0; percent != last; percent = nextTextSize(percent, 1)) {
        size->addItem(tr("%1 %").arg(percent), percent);
        last = percent;
    }
    size->setCurrentIndex(size->findData(m_settings.textSize()));
    connect(size, &QComboBox::activated, this,
        [this, size](int item) { Q_EMIT textSizeChosen(size->itemData(item).toInt()); });
    rows->addRow(tr("Te&xt size"), size);
    auto* jobs = new QSpinBox(this);
    jobs->setObjectName(u"settingsJobs"_s);
    jobs->setRange(1, kMostJobs);
    jobs->setValue(m_settings.jobLimit());
    connect(jobs, &QSpinBox::valueChanged, this, &SettingsDialog::jobLimitChosen);
    rows->addRow(tr("&Jobs at once"), jobs);
}

void SettingsDialog::addStart(QFormLayout* rows)
{
    auto* opened = new QCheckBox(tr("Open what was open when the window was closed"), this);
    opened->setObjectName(u"settingsRestore"_s);
    opened->setChecked(m_settings.restoresOpened());
    opened->setToolTip(tr("With their pages, selections and filters. A start with a path opens only that."));
    connect(opened, &QCheckBox::toggled, this, [this](bool on) { m_settings.setRestoresOpened(on); });
    rows->addRow(tr("At the start"), opened);
    auto* columns = new QPushButton(tr("&Forget"), this);
    columns->setObjectName(u"settingsColumns"_s);
    columns->setToolTip(tr("The columns of tables have their default widths at the next start"));
    columns->setEnabled(!m_settings.columns(u"parameters"_s).isEmpty());
    connect(columns, &QPushButton::clicked, this, [this, columns] {
        m_settings.setColumns(u"parameters"_s, {});
        columns->setEnabled(false);
    });
    auto* line = new QHBoxLayout; // the button is not as wide as the form
    line->addWidget(columns);
    line->addStretch(1);
    rows->addRow(tr("Widths of columns"), line);
}

void SettingsDialog::addLayouts(QFormLayout* rows)
{
    m_layouts->setObjectName(u"settingsLayouts"_s);
    m_layouts->setAccessibleName(tr("Saved layouts"));
    m_layouts->setMaximumHeight(6 * fontMetrics().height());
    auto* remove = new QPushButton(tr("&Remove"), this);
    remove->setObjectName(u"settingsRemoveLayout"_s);
    connect(remove, &QPushButton::clicked, this, [this] {
        if (const QListWidgetItem* item = m_layouts->currentItem())
            m_settings.setLayout(item->text(), {});
        fillLayouts();
    });
    auto* none = new QLabel(tr("The View menu saves the panels of the window as a layout."), this);
    none->setWordWrap(true);
    auto* column = new QVBoxLayout;
    column->addWidget(none);
    column->addWidget(m_layouts);
    column->addWidget(remove, 0, Qt::AlignLeft);
    column->addStretch(1);
    rows->addRow(tr("&Layouts"), column);
    static_cast<QLabel*>(rows->labelForField(column))->setBuddy(m_layouts);
    fillLayouts();
}

void SettingsDialog::fillLayouts()
{
    m_layouts->clear();
    m_layouts->addItems(m_settings.layouts());
    m_layouts->setEnabled(m_layouts->count() > 0);
    findChild<QPushButton*>(u"settingsRemoveLayout"_s)->setEnabled(m_layouts->count() > 0);
    if (m_layouts->count() > 0)
        m_layouts->setCurrentRow(0);
}

} // namespace shardscope::ui
