// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/ui/window_fixture.h"
#include "ui/dialogs/reshard_dialog.h"
#include "ui/dialogs/reshard_form.h"
#include "ui/dialogs/reshard_maps.h"
#include "ui/layoutmap/layout_map_view.h"

#include <QMouseEvent>
#include <QSignalSpy>

namespace shardscope::ui {

using namespace Qt::StringLiterals;

/// The reshard dialog of a sample, with a plan for so many GPUs on screen.
class Reshard
{
public:
    Reshard(WindowFixture& ui, uint32_t ranks)
        : m_dialog(ui.window().showReshardDialog())
    {
        m_dialog->resize(1200, 900); // so that all of it is seen
        m_dialog->form()->setTarget(ui.folder(u"out"_s));
        m_dialog->form()->setWorldSize(ranks);
    }
    [[nodiscard]] ReshardDialog* operator->() const { return m_dialog; }
    /// Waits for the plan of the choices, and for both maps.
    [[nodiscard]] bool settle() const
    {
        QSignalSpy shown(m_dialog, &ReshardDialog::previewShown);
        return shown.wait(30'000) && QTest::qWaitFor([this] {
            return map("Before")->canvas()->stack() != nullptr && !map("Before")->isBusy()
                && !map("After")->isBusy() && !m_dialog->isDrawing();
        });
    }
    [[nodiscard]] LayoutMapView* map(const char* side) const
    {
        return m_dialog->findChild<LayoutMapView*>(u"reshardMap"_s + QString::fromLatin1(side));
    }
    template <class Widget>
    [[nodiscard]] Widget* find(const char* name) const
    {
        return m_dialog->findChild<Widget*>(QString::fromLatin1(name));
    }
    /// Moves the pointer over the middle of the cell at a place.
    void hover(LayoutMapView* on, MapSource::Point place) const
    {
        const MapStack& stack = *on->canvas()->stack();
        const MapCell cell = stack.cellAt(place);
        const MapBlock block{{place.row, place.row + uint64_t{1}}, {cell.begin, cell.end}, place.section};
        const ContentRect rect = on->viewport()->layout().rectOf(block);
        const double ratio = on->viewport()->pixelRatio();
        const QPointF at(
            static_cast<double>(rect.x - on->viewport()->x()) + static_cast<double>(rect.width) / 2,
            static_cast<double>(rect.y - on->viewport()->y()) + static_cast<double>(rect.height) / 2);
        // Not QTest::mouseMove(): without a screen the cursor is over the main window, below the dialog.
        QMouseEvent move(QEvent::MouseMove, at / ratio, on->canvas()->mapToGlobal(at / ratio), Qt::NoButton,
            Qt::NoButton, Qt::NoModifier);
        QCoreApplication::sendEvent(on->canvas(), &move);
    }

private:
    ReshardDialog* m_dialog;
};

} // namespace shardscope::ui
