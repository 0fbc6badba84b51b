package scheduler

import "fmt"

// Factory makes a plugin for one profile. args are the plugin's arguments in the profile, nil for the defaults.
type Factory func(args any, h *Handle) (Plugin, error)

// Registry holds the factories of plugins, by name.
type Registry map[string]Factory

// Register adds a plugin. It returns an error if the registry has a plugin of that name.
func (r Registry) Register(name string, f Factory) error {
	if _, ok := r[name]; ok {
		return fmt.Errorf("a plugin named %v already exists", name)
	}
	r[name] = f
	return nil
}

// Unregister removes a plugin. It returns an error if the registry has no plugin of that name.
func (r Registry) Unregister(name string) error {
	if _, ok := r[name]; !ok {
		return fmt.Errorf("no plugin named %v exists", name)
	}
	delete(r, name)
	return nil
}

// Merge adds all plugins of another registry, in the order of their names. It ends with an error at the first name that
// the registry has already; the plugins before that name have been added.
func (r Registry) Merge(other Registry) error {
	for _, name := range sortedKeys(other) {
		if err := r.Register(name, other[name]); err != nil {
			return err
		}
	}
	return nil
}
