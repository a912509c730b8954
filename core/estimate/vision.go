package estimate

// siglip is the only supported kind of vision tower.
const siglip = "siglip_vision_model"

// vision reads the vision tower of a model. It adds a note for a tower of another kind.
func (m *Model) vision(top *object) error {
	o, err := top.objectOr("vision_config")
	if err != nil || o == nil {
		return err
	}
	kind, err := o.textOr("model_type", "")
	if err != nil {
		return err
	}
	if kind != siglip {
		m.Notes = append(m.Notes, "the numbers of the configuration do not include the vision tower")
		return nil
	}
	v := &Vision{}
	for _, p := range []struct {
		place
		otherwise uint64
	}{
		{place{"hidden_size", &v.Hidden}, 768}, {place{"intermediate_size", &v.Intermediate}, 3072},
		{place{"num_hidden_layers", &v.Layers}, 12}, {place{"patch_size", &v.Patch}, 16}, {place{"image_size", &v.Image}, 224},
	} {
		if *p.value, err = o.numberOr(p.field, 1, p.otherwise); err != nil {
			return err
		}
	}
	if v.Layers > maxLayers {
		return o.wrong("num_hidden_layers", "is %d, not within 1 to %d", v.Layers, maxLayers)
	}
	if v.Patch > v.Image {
		return o.wrong("patch_size", "is %d, larger than the image of %d", v.Patch, v.Image)
	}
	m.Vision = v
	m.Notes = append(m.Notes, "the numbers do not include the activations of the vision tower")
	return nil
}

// vision counts a vision tower, which every device has completely.
func (k *counter) vision() {
	v := k.model.Vision
	if v == nil {
		return
	}
	h, i := v.Hidden, v.Intermediate
	side := v.Image / v.Patch
	k.rest(v.Patch, v.Patch, 3, h)
	k.rest(h)
	k.rest(side, side, h)
	attention := k.product(4, k.sum(k.product(h, h), h))
	mlp := k.sum(k.product(2, h, i), i, h)
	k.rest(v.Layers, k.sum(attention, mlp, k.product(4, h)))
	k.rest(2, h)
	k.rest(h, k.model.Hidden)
	k.rest(h)
}
