/* Access of one device to the memory of another. */
#include "internal.h"

CUresult cuDeviceCanAccessPeer(int *out, CUdevice dev, CUdevice peer) {
    SIM_CALL(0);
    Device *device, *other;
    if (out == NULL)
        return INVALID("canAccessPeer is NULL");
    FIND_DEVICE(dev, &device);
    FIND_DEVICE(peer, &other);
    *out = device != other && !sim.config.without_peer;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attribute,
                                 CUdevice from, CUdevice to) {
    SIM_CALL(0);
    Device *device, *other;
    FIND_DEVICE(from, &device);
    FIND_DEVICE(to, &other);
    if (value == NULL || (int)attribute < 1 || (int)attribute > 4)
        return INVALID("value is NULL or attrib is %d", (int)attribute);
    if (device == other)
        return FAIL(CUDA_ERROR_INVALID_DEVICE, "a device is not its own peer");
    *value = attribute == CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK
                 ? 0
                 : !sim.config.without_peer;
    return CUDA_SUCCESS;
}

static CUresult find(CUcontext handle, const char *call, Context **found) {
    Context *context = context_find(handle);
    *found = context;
    if (context == NULL || !context->object.alive)
        return fail(call, CUDA_ERROR_INVALID_CONTEXT,
                    "peerContext is not a live context");
    return CUDA_SUCCESS;
}

CUresult cuCtxEnablePeerAccess(CUcontext handle, unsigned flags) {
    SIM_CALL(IN_CONTEXT | UNSAFE);
    Context *peer, *context = context_current();
    CUresult code = find(handle, __func__, &peer);
    if (code != CUDA_SUCCESS)
        return code;
    if (flags != 0)
        return INVALID("Flags is %u", flags);
    if (peer == context)
        return FAIL(CUDA_ERROR_INVALID_CONTEXT,
                    "a context is not its own peer");
    if (sim.config.without_peer || peer->device == context->device)
        return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
    if (context->peers[peer->device->ordinal])
        return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
    context->peers[peer->device->ordinal] = true;
    return CUDA_SUCCESS;
}

CUresult cuCtxDisablePeerAccess(CUcontext handle) {
    SIM_CALL(IN_CONTEXT | UNSAFE);
    Context *peer, *context = context_current();
    CUresult code = find(handle, __func__, &peer);
    if (code != CUDA_SUCCESS)
        return code;
    if (!context->peers[peer->device->ordinal])
        return FAIL(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED,
                    "access to device %d was not enabled",
                    peer->device->ordinal);
    context->peers[peer->device->ordinal] = false;
    return CUDA_SUCCESS;
}
