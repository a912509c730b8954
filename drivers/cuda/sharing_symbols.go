package cuda

import "ferrum_mem/internal/dl"

// sharingAPI is the functions by which devices and processes share memory.
type sharingAPI struct {
	contextDevice, enablePeer                   dl.Function
	pageExport, pageImport, pageProperties      dl.Function
	ipcGetMemory, ipcOpenMemory, ipcCloseMemory dl.Function
	ipcGetEvent, ipcOpenEvent                   dl.Function
}

func (a *sharingAPI) table() []dl.Row {
	return []dl.Row{
		{Name: "cuCtxGetDevice", To: &a.contextDevice, Since: 2000},
		{Name: "cuCtxEnablePeerAccess", To: &a.enablePeer, Since: 4000, Group: groupPeerAccess},
		{Name: "cuMemExportToShareableHandle", To: &a.pageExport, Since: 10020, Group: groupShareable},
		{Name: "cuMemImportFromShareableHandle", To: &a.pageImport, Since: 10020, Group: groupShareable},
		{Name: "cuMemGetAllocationPropertiesFromHandle", To: &a.pageProperties, Since: 10020, Group: groupShareable},
		{Name: "cuIpcGetMemHandle", To: &a.ipcGetMemory, Since: 4010, Group: groupIPC},
		{Name: "cuIpcOpenMemHandle_v2", To: &a.ipcOpenMemory, Since: 11000, Group: groupIPC},
		{Name: "cuIpcCloseMemHandle", To: &a.ipcCloseMemory, Since: 4010, Group: groupIPC},
		{Name: "cuIpcGetEventHandle", To: &a.ipcGetEvent, Since: 4010, Group: groupIPC},
		{Name: "cuIpcOpenEventHandle", To: &a.ipcOpenEvent, Since: 4010, Group: groupIPC},
	}
}
