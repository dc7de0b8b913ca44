// SPDX-License-Identifier: Apache-2.0
#include "ui/pages/map_page.h"

#include "core/report/summary/report_head.h"
#include "ui/controls/filter_bar.h"
#include "ui/layoutmap/geometry/map_text.h"
#include "ui/layoutmap/layout_map_view.h"
#include "ui/layoutmap/map_picture.h"
#include "ui/session/check_run.h"
#include "ui/session/findings/finding_store.h"
#include "ui/session/shell_words.h"
#include "ui/text/text.h"
#include "ui/widgets/focus_order.h"
#include "ui/widgets/path_field.h"

#include <QApplication>
#include <QClipboard>
#include <QLabel>
#include <QVBoxLayout>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

PageEntry MapPage::entry()
{
    return {PageId::Map, u"map"_s, u"actionMap"_s, tr("Partition map"), tr("Partition &Map"), u"map"_s,
        u"concepts"_s, &makePage<MapPage>,
        {{PageAction::Menu::File, u"actionSaveMap"_s, tr("&Save Picture of the Map…"),
             {Qt::CTRL | Qt::SHIFT | Qt::Key_S}, u"map"_s, true,
             [](Page& page) { static_cast<MapPage&>(page).askForPicture(); }},
            {PageAction::Menu::File, u"actionCopyMap"_s, tr("Cop&y Picture of the Map"),
                {Qt::CTRL | Qt::SHIFT | Qt::Key_M}, {}, true,
                [](Page& page) { static_cast<MapPage&>(page).copyPicture(); }}}};
}

void MapPage::setLit(const ParamMarks& matches)
{
    m_map->setLit(matches);
}

void MapPage::setDifferences(const DifferenceMarksPtr& differences)
{
    m_map->setDifferences(differences);
}

bool MapPage::isBusy() const
{
    return isVisible() && m_map->isBusy();
}

MapPage::MapPage(const PageContext& context, QWidget* parent)
    : Page(context, parent)
    , m_map(new LayoutMapView(&context.theme, this))
    , m_empty(makeEmpty(u"mapEmpty"_s))
{
    setObjectName(u"mapPage"_s);
    m_map->setObjectName(u"layoutMap"_s);
    auto* rows = new QVBoxLayout(this);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setSpacing(0);
    rows->addWidget(makeFilterBar()); // of the parameters: the others are dimmed
    rows->addWidget(m_map, 1);
    rows->addWidget(m_empty, 1);
    handFocusTo(this, m_map);
    connect(m_map, &LayoutMapView::parameterActivated, this, &MapPage::parameterActivated);
    connect(&context.findings, &FindingStore::changed, this, &MapPage::showFindings);
    showCheckpoint();
}

void MapPage::showCheckpoint()
{
    const CheckpointPtr& checkpoint = m_checkpoint;
    const MapLooksPtr looks = checkpoint ? m_context.session.looks() : nullptr;
    m_marked.reset(); // the map forgets them
    const bool hasSections = checkpoint && looks && !looks->sections.empty();
    m_map->setCheckpoint(hasSections ? checkpoint : nullptr, hasSections ? looks : nullptr);
    m_map->setSelection(&m_context.selection);
    m_map->setVisible(hasSections);
    m_empty->setVisible(!hasSections);
    if (!checkpoint)
        m_empty->setText(tr("Open a checkpoint to see where its elements are stored."));
    else if (checkpoint->modelError)
        m_empty->setText(tr("There is no layout to draw.\n%1").arg(errorText(*checkpoint->modelError)));
    else
        m_empty->setText(tr("This checkpoint has no tensors to draw."));
    showFindings();
}

/// The map stays as it is, and hears of nothing: where the run is the same, it keeps its place and zoom.
void MapPage::leaveCheckpoint()
{
    m_map->setSelection(nullptr);
}

void MapPage::showFindings()
{
    if (!m_checkpoint)
        return;
    const FindingStore& store = m_context.findings;
    const FindingStore::Findings found = store.of(m_checkpoint);
    const bool isSame
        = found == m_marked || (m_marked && found->size() == m_marked->size() && store.run().isRunning());
    if (isSame)
        return; // a check reports more often than it finds something
    m_marked = found;
    m_map->setFindings(*found);
}

void MapPage::askForPicture()
{
    askForPath(this,
        {.kind = PathQuestion::Kind::NewFile,
            .name = u"savePictureDialog"_s,
            .title = tr("Save a Picture of the Map"),
            .filters = tr("PNG picture (*.png);;SVG drawing (*.svg)"),
            .suggested = toText(m_checkpoint->tag) % u"-map.png"_s},
        [this](const QString& path) { savePicture(path); });
}

std::optional<MapPicture> MapPage::picture()
{
    if (!m_checkpoint || !m_map->canvas()->source()) {
        Q_EMIT told(Severity::Warning, tr("There is no map to save."));
        return std::nullopt;
    }
    const MapStack& stack = *m_map->canvas()->stack();
    const QString shown
        = stack.count() == 1 ? MapText::sectionName(stack.source(0)) : tr("%1 sections").arg(stack.count());
    return takeMapPicture(*m_map,
        pathText(m_checkpoint->runFolder.filename() / m_checkpoint->tag) % u" · "_s % titleText(*m_checkpoint)
            % u" · "_s % shown
            % (stack.files() ? QString() : u" · "_s % toText(stack.source(0).state().name)));
}

void MapPage::savePicture(const QString& path)
{
    const auto taken = picture();
    if (!taken)
        return;
    ReportHead head
        = reportHead(pageCommand(entry().name, {}, sourceWords(*m_checkpoint, m_place)).toStdString());
    m_saver.save(
        [&files = m_context.session.files(), checkpoint = m_checkpoint, picture = *taken, head,
            opened = m_place.path, target = SaveTarget{path, readAt(m_place)}]() mutable {
            head.about.push_back(identityOf(files, *checkpoint, opened));
            for (const std::string& line : headLines(head))
                picture.facts.append(toText(line));
            return saveMapPicture(picture, target);
        },
        tr("Saved the picture to %1.").arg(path));
}

void MapPage::copyPicture()
{
    const auto taken = picture();
    if (!taken)
        return;
    m_pictureWriter.run<QImage>(
        [picture = *taken](const std::stop_token&, const std::function<void(QImage)>& deliver) {
            deliver(imageOf(picture));
        },
        [this](const QImage& image) {
            QApplication::clipboard()->setImage(image);
            Q_EMIT told(Severity::Info, tr("Copied the picture."));
        });
}

} // namespace shardscope::ui
