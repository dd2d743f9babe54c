// SPDX-License-Identifier: MIT
//
// scene.cpp - builds scene graphs, renders them to text and drops them, frame after frame.
//
// It exists to be profiled, as examples/leaky does, and shows what C++ programs suffer from: a vector that grows
// without reserve(), strings made by concatenation, and parent and child that own each other, so that neither is ever
// freed.

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace scene
{

struct Node {
    std::string name;
    std::shared_ptr<Node> parent; // the leak: a std::weak_ptr would not own it
    std::vector<std::shared_ptr<Node>> children;
    std::vector<float> mesh;
};

static std::shared_ptr<Node> build(std::string name, int depth, int fanout)
{
    auto node = std::make_shared<Node>();
    node->name = std::move(name);
    for (int i = 0; i < 96; i++)
        node->mesh.push_back(static_cast<float>(i)); // grows seven times; reserve(96) would grow once
    for (int i = 0; depth > 0 && i < fanout; i++) {
        auto child = build(node->name + "/" + std::to_string(i), depth - 1, fanout);
        child->parent = node;
        node->children.push_back(std::move(child));
    }
    return node;
}

class Renderer
{
  public:
    std::string render(const Node &node)
    {
        std::string text = "<" + node.name + ">";
        for (const auto &child : node.children)
            text += render(*child);
        seen_[node.name]++;
        return text + "</" + node.name + ">";
    }

    std::size_t names() const
    {
        return seen_.size();
    }

  private:
    std::unordered_map<std::string, int> seen_;
};

} // namespace scene

int main(int argc, char **argv)
{
    int frames = argc > 1 ? std::atoi(argv[1]) : 100;
    scene::Renderer renderer;
    std::size_t characters = 0;
    for (int frame = 0; frame < frames; frame++) {
        auto root = scene::build("frame" + std::to_string(frame % 10), 3, 4);
        characters += renderer.render(*root).size();
    }
    std::printf("rendered %d frames: %zu characters, %zu names\n", frames, characters, renderer.names());
    return 0;
}
