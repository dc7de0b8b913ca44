// SPDX-License-Identifier: Apache-2.0
// Pages in their own windows, and saved pictures.
#include "ui/dialogs/manual_window.h"
#include "ui/models/address_selection.h"
#include "ui/shell/main_window.h"

#include "ui/layoutmap/geometry/map_text.h"
#include "ui/layoutmap/layout_map_view.h"
#include "ui/layoutmap/map_picture.h"
#include "ui/pages/compare_page.h"
#include "ui/pages/findings_page.h"
#include "ui/pages/map_page.h"
#include "ui/pages/parameters_page.h"
#include "ui/shell/page_window.h"
#include "ui/style/icons.h"
#include "ui/text/text.h"
#include "ui/widgets/filter_field.h"
#include "ui/widgets/message_bar.h"

#include <QApplication>
#include <QClipboard>
#include <QFileDialog>
#include <QTabWidget>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

PageWindow* MainWindow::openPageWindow()
{
    if (!m_session.checkpoint())
        return nullptr;
    const PageEntry& entry = pageList()[m_tabs->currentIndex()];
    auto* window = new PageWindow(m_session, m_theme, this);
    Page* page = entry.make(
        {m_session, window->selection(), m_compareRun, m_findingStore, m_settings, m_theme}, window);
    addManualKey(window, entry.topic);
    connectPage(page);
    if (auto* map = qobject_cast<MapPage*>(page)) {
        map->mapView()->setLit(m_map->mapView()->canvas()->mapStyle().lit);
        connect(m_parameters, &ParametersPage::matchesChanged, window, [window, map](const ParamMarks& lit) {
            if (!window->isPinned() || !lit)
                map->mapView()->setLit(lit);
        });
    } else if (auto* parameters = qobject_cast<ParametersPage*>(page)) {
        parameters->setFilter(m_filters.value(m_parameters));
        connect(parameters, &ParametersPage::filterWanted, window,
            [this, window, parameters](const QString& text) {
                window->isPinned() ? parameters->setFilter(text) : m_filter->setText(text);
            });
        connect(m_parameters, &ParametersPage::filtered, window, [this, window, parameters] {
            if (!window->isPinned())
                parameters->setFilter(m_filters.value(m_parameters));
        });
    }
    window->setPage(page, entry.title);
    window->show();
    window->activateWindow();
    return window;
}

void MainWindow::updateFindingsTab()
{
    const CheckpointPtr& checkpoint = m_session.checkpoint();
    const auto [infos, warnings, errors]
        = checkpoint ? countBySeverity(*m_findingStore.detailed(checkpoint)) : std::array<size_t, 3>{};
    const int tab = m_tabs->indexOf(m_findings);
    QStringList counts;
    if (errors > 0)
        counts.append(errors == 1 ? tr("1 error") : tr("%1 errors").arg(countText(errors)));
    if (warnings > 0)
        counts.append(warnings == 1 ? tr("1 warning") : tr("%1 warnings").arg(countText(warnings)));
    const size_t worst = errors > 0 ? errors : warnings;
    m_tabs->setTabText(tab, worst > 0 ? tr("Findings (%1)").arg(countText(worst)) : tr("Findings"));
    m_tabs->setTabToolTip(tab, counts.join(u", "_s));
    m_tabs->setTabIcon(tab,
        errors > 0         ? themedIcon(m_theme, u"error"_s, ThemeRole::Error)
            : warnings > 0 ? themedIcon(m_theme, u"warning"_s, ThemeRole::Warning)
                           : themedIcon(m_theme, u"check"_s, ThemeRole::MutedText));
}

bool MainWindow::goToAddress(const QString& address)
{
    if (!m_session.checkpoint())
        return false;
    const Checkpoint& checkpoint = *m_session.checkpoint();
    auto thing = selectionOf(checkpoint, address);
    if (!thing) { // a parameter without elements has no address
        const auto param = checkpoint.findParam(address.toStdString());
        if (param)
            m_session.selection().selectParam(*param);
        return param.has_value();
    }
    m_session.selection().select(std::move(*thing));
    return true;
}

void MainWindow::showPageWhenOpen(const QString& name)
{
    m_pageWanted = name;
}

void MainWindow::selectWhenOpen(const QString& address)
{
    m_addressWanted = address;
}

void MainWindow::compareWith(const QString& path, bool start)
{
    if (!showPage(u"compare"_s) || m_session.isOpening())
        m_pageWanted = u"compare"_s;
    m_compare->setOther(path);
    if (start)
        m_compare->start();
}

void MainWindow::askForPicture()
{
    showPage(u"map"_s); // the visible map is saved
    m_map->mapView()->setFilesShown(false); // the map of ranks
    auto* dialog = new QFileDialog(
        this, tr("Save a Picture of the Map"), {}, tr("PNG picture (*.png);;SVG drawing (*.svg)"));
    dialog->setObjectName(u"savePictureDialog"_s);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    dialog->setDefaultSuffix(u"png"_s);
    connect(dialog, &QFileDialog::filterSelected, dialog, [dialog](const QString& filter) {
        dialog->setDefaultSuffix(filter.contains(u"svg"_s) ? u"svg"_s : u"png"_s);
    });
    dialog->selectFile(toText(m_session.checkpoint()->tag) % u"-map.png"_s);
    connect(dialog, &QFileDialog::fileSelected, this, &MainWindow::saveMapPicture);
    dialog->open();
}

std::optional<MapPicture> MainWindow::mapPicture()
{
    LayoutMapView* map = m_map->mapView();
    if (!m_session.checkpoint() || !map->canvas()->source()) {
        m_messages->showMessage(Severity::Warning, tr("There is no map to save."));
        return std::nullopt;
    }
    const Checkpoint& checkpoint = *m_session.checkpoint();
    const MapStack& stack = *map->canvas()->stack();
    const QString shown
        = stack.count() == 1 ? MapText::sectionName(stack.source(0)) : tr("%1 sections").arg(stack.count());
    return takeMapPicture(*map,
        pathText(checkpoint.runFolder.filename() / checkpoint.tag) % u" · "_s % titleText(checkpoint)
            % u" · "_s % shown % u" · "_s % toText(map->canvas()->source()->state().name));
}

void MainWindow::saveMapPicture(const QString& path)
{
    const auto picture = mapPicture();
    if (!picture)
        return;
    m_pictureWriter.run<QString>(
        [picture = *picture, target = SaveTarget{path, readAt(m_session.place())}](const std::stop_token&,
            const std::function<void(QString)>& deliver) { deliver(ui::saveMapPicture(picture, target)); },
        [this, path](const QString& problem) {
            m_messages->showMessage(problem.isEmpty() ? Severity::Info : Severity::Error,
                problem.isEmpty() ? tr("Saved the picture to %1.").arg(path) : problem);
        });
}

void MainWindow::copyMapPicture()
{
    showPage(u"map"_s); // the visible map is copied
    m_map->mapView()->setFilesShown(false);
    const auto picture = mapPicture();
    if (!picture)
        return;
    m_pictureWriter.run<QImage>(
        [picture = *picture](const std::stop_token&, const std::function<void(QImage)>& deliver) {
            deliver(imageOf(picture));
        },
        [this](const QImage& image) {
            QApplication::clipboard()->setImage(image);
            m_messages->showMessage(Severity::Info, tr("Copied the picture."));
        });
}

} // namespace shardscope::ui
